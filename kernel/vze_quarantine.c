// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that a device may still use.
 *
 * When the acknowledgment of an invalidation never comes, nobody knows whether the
 * device will go on with the old translations: its process may only be stopped. What
 * they named (mappings, and with them objects and pinned pages, and tables) is kept
 * here until a reset of the device in that slot has been acknowledged, be it by the
 * same process or by a new one. The module and the DRM device stay meanwhile.
 *
 * Nothing here allocates memory or sleeps but the release.
 */

#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/spinlock.h>

#include <drm/drm_drv.h>
#include <drm/drm_print.h>

#include "vze_device.h"
#include "vze_quarantine.h"
#include "vze_userptr.h"
#include "vze_vm.h"

static DEFINE_SPINLOCK(quarantine_lock);
/* struct vze_vma by @dead; the object knows the device. */
static LIST_HEAD(quarantined_vmas);
/* struct page by @lru; the private word is the struct vze_device. */
static LIST_HEAD(quarantined_tables);

static void device_hold(struct vze_device *vdev)
{
	drm_dev_get(&vdev->drm);
	__module_get(THIS_MODULE);
}

static void device_let_go(struct vze_device *vdev)
{
	drm_dev_put(&vdev->drm);
	module_put(THIS_MODULE);
}

static struct vze_device *vma_device(struct vze_vma *vma)
{
	return to_vze(vma->base.gem.obj->dev);
}

static struct vze_device *table_device(struct page *table)
{
	return (struct vze_device *)page_private(table);
}

/**
 * vze_quarantine_vmas() - keep mappings whose invalidation was not acknowledged
 * @vdev: device
 * @vmas: list of struct vze_vma by @dead, out of their tree; empty afterwards
 */
void vze_quarantine_vmas(struct vze_device *vdev, struct list_head *vmas)
{
	struct vze_vma *vma;

	if (list_empty(vmas))
		return;
	drm_err(&vdev->drm, "unacknowledged invalidation: memory stays pinned until a reset\n");
	list_for_each_entry(vma, vmas, dead)
		device_hold(vdev);
	spin_lock(&quarantine_lock);
	list_splice_tail_init(vmas, &quarantined_vmas);
	spin_unlock(&quarantine_lock);
}

/**
 * vze_quarantine_tables() - the same for page tables
 * @vdev: device
 * @tables: list of pages by @lru; empty afterwards
 */
void vze_quarantine_tables(struct vze_device *vdev, struct list_head *tables)
{
	struct page *table;

	list_for_each_entry(table, tables, lru) {
		set_page_private(table, (unsigned long)vdev);
		device_hold(vdev);
	}
	spin_lock(&quarantine_lock);
	list_splice_tail_init(tables, &quarantined_tables);
	spin_unlock(&quarantine_lock);
}

static bool same_slot(struct vze_device *a, struct vze_device *b)
{
	/* @a may be unbound: its pci_dev is held by the DRM device only. */
	return a == b || !memcmp(a->ident.uuid, b->ident.uuid, sizeof(a->ident.uuid)) ||
	       (pci_domain_nr(a->pdev->bus) == pci_domain_nr(b->pdev->bus) &&
		a->pdev->bus->number == b->pdev->bus->number && a->pdev->devfn == b->pdev->devfn);
}

/**
 * vze_quarantine_release() - the device in this slot has acknowledged a reset
 * @vdev: device, as it is now
 *
 * What it, or an earlier device in its place, was kept from is given back: what is in
 * quarantine, and what objects keep pinned that nobody can close any more.
 */
void vze_quarantine_release(struct vze_device *vdev)
{
	struct page *table, *next_table;
	struct vze_vma *vma, *next_vma;
	LIST_HEAD(tables);
	LIST_HEAD(vmas);

	vze_userptrs_drop(same_slot, vdev);

	spin_lock(&quarantine_lock);
	list_for_each_entry_safe(vma, next_vma, &quarantined_vmas, dead) {
		if (same_slot(vma_device(vma), vdev))
			list_move_tail(&vma->dead, &vmas);
	}
	list_for_each_entry_safe(table, next_table, &quarantined_tables, lru) {
		if (same_slot(table_device(table), vdev))
			list_move_tail(&table->lru, &tables);
	}
	spin_unlock(&quarantine_lock);

	list_for_each_entry_safe(vma, next_vma, &vmas, dead) {
		struct vze_device *owner = vma_device(vma);

		list_del(&vma->dead);
		vze_vma_free(vma);
		device_let_go(owner);
	}
	list_for_each_entry_safe(table, next_table, &tables, lru) {
		LIST_HEAD(one);
		struct vze_device *owner = table_device(table);

		list_move(&table->lru, &one);
		vze_pt_free_tables(&one);
		device_let_go(owner);
	}
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Three bugs on purpose, one for each kind of report that scripts/sanitize relies
 * on: they show that it can fail.
 *
 * Linked into the module only by "scripts/build module --kernel sanitize
 * --seeded-bugs", which keeps the product apart from the real one. The DKMS source
 * does not have this file, and no other kernel compiles it.
 *
 * Writing a bug's name to the module parameter seeded_bug lets it happen once, with
 * the driver's own structures and locks.
 */
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "vze_device.h"
#include "vze_tlb.h"

#if !IS_ENABLED(CONFIG_KASAN) || !IS_ENABLED(CONFIG_PROVE_LOCKING) || !IS_ENABLED(CONFIG_DEBUG_KMEMLEAK)
#error "Bugs are seeded only where KASAN, lockdep and kmemleak find them"
#endif

static noinline void seeded_use_after_free(struct vze_device *vdev)
{
	struct vze_tlb_window *window = kzalloc(sizeof(*window), GFP_KERNEL);

	if (!window)
		return;
	window->start = SZ_4K;
	kfree(window);
	OPTIMIZER_HIDE_VAR(window);
	dev_info(vdev->drm.dev, "seeded: window at %#llx\n", READ_ONCE(window->start));
}

/* No deadlock: one task takes both orders, one after the other. Lockdep sees the cycle. */
static noinline void seeded_lock_inversion(struct vze_device *vdev)
{
	spin_lock_irq(&vdev->ctrl.lock);
	spin_lock(&vdev->tlb.lock);
	spin_unlock(&vdev->tlb.lock);
	spin_unlock_irq(&vdev->ctrl.lock);

	spin_lock_irq(&vdev->tlb.lock);
	spin_lock(&vdev->ctrl.lock);
	spin_unlock(&vdev->ctrl.lock);
	spin_unlock_irq(&vdev->tlb.lock);
}

static noinline void seeded_leak(struct vze_device *vdev)
{
	struct vze_tlb_window *window = kzalloc(sizeof(*window), GFP_KERNEL);

	if (window)
		window->asid = 1;
	OPTIMIZER_HIDE_VAR(window);
}

static const struct {
	const char *name;
	void (*happen)(struct vze_device *vdev);
} seeded_bugs[] = {
	{ "use-after-free", seeded_use_after_free },
	{ "lock-inversion", seeded_lock_inversion },
	{ "leak", seeded_leak },
};

static int seeded_bug_set(const char *value, const struct kernel_param *param)
{
	struct pci_dev *pdev = pci_get_device(VZE_HW_PCI_VENDOR, VZE_HW_PCI_DEVICE, NULL);
	int ret = -EINVAL;
	u32 i;

	if (!pdev)
		return -ENODEV;
	for (i = 0; i < ARRAY_SIZE(seeded_bugs); i++) {
		if (!sysfs_streq(value, seeded_bugs[i].name))
			continue;
		ret = -ENODEV;
		if (pci_get_drvdata(pdev)) {
			seeded_bugs[i].happen(pci_get_drvdata(pdev));
			ret = 0;
		}
		break;
	}
	pci_dev_put(pdev);
	return ret;
}

static const struct kernel_param_ops seeded_bug_ops = {
	.set = seeded_bug_set,
};

module_param_cb(seeded_bug, &seeded_bug_ops, NULL, 0200);
MODULE_PARM_DESC(seeded_bug, "use-after-free, lock-inversion or leak: happens once at the write");

// SPDX-License-Identifier: GPL-2.0
/*
 * Files in the DRM device's folder of debugfs.
 */
#include <drm/drm_debugfs.h>

#include "vze_debugfs.h"
#include "vze_device.h"
#include "vze_queue.h"
#include "vze_share.h"
#include "vze_vm.h"
#include "vze_vram.h"

static int vze_counts_show(struct seq_file *m, void *unused)
{
	struct vze_device *vdev = vze_debugfs_device(m);
	struct vze_counts *counts = &vdev->counts;
	const struct {
		const char *name;
		atomic64_t *value;
	} lines[] = {
		{ "objects", &counts->objects },
		{ "userptrs", &counts->userptrs },
		{ "pinned_pages", &counts->pinned_pages },
		{ "vms", &counts->vms },
		{ "vmas", &counts->vmas },
		{ "pt_pages", &counts->pt_pages },
		{ "queues", &counts->queues },
		{ "shares", &counts->shares },
		{ "vram_used", &counts->vram_used },
		{ "deferred_vram", &counts->deferred[VZE_REGION_VRAM] },
		{ "deferred_system", &counts->deferred[VZE_REGION_SYSTEM] },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lines); i++)
		seq_printf(m, "%s %lld\n", lines[i].name, atomic64_read(lines[i].value));
	return 0;
}

static int vze_hw_counters_show(struct seq_file *m, void *unused)
{
	static const char * const names[VZE_HW_COUNTER_COUNT] = {
		[VZE_HW_COUNTER_BYTES_READ] = "bytes_read",
		[VZE_HW_COUNTER_BYTES_WRITTEN] = "bytes_written",
		[VZE_HW_COUNTER_COMMANDS] = "commands",
		[VZE_HW_COUNTER_JOBS] = "jobs",
		[VZE_HW_COUNTER_TLB_HITS] = "tlb_hits",
		[VZE_HW_COUNTER_TLB_MISSES] = "tlb_misses",
		[VZE_HW_COUNTER_TLB_INVALIDATIONS] = "tlb_invalidations",
		[VZE_HW_COUNTER_STALE_USES] = "stale_uses",
		[VZE_HW_COUNTER_FAULTS] = "faults",
		[VZE_HW_COUNTER_RESOLVES] = "resolves",
		[VZE_HW_COUNTER_PARKS] = "parks",
		[VZE_HW_COUNTER_RESETS] = "resets",
		[VZE_HW_COUNTER_INTERRUPTS] = "interrupts",
		[VZE_HW_COUNTER_PAGES_COMPRESSED] = "pages_compressed",
		[VZE_HW_COUNTER_PAGES_CLEARED] = "pages_cleared",
	};
	struct vze_device *vdev = vze_debugfs_device(m);
	u32 i;

	if (!vze_hw_enter(vdev))
		return -ENODEV;
	for (i = 0; i < VZE_HW_COUNTER_COUNT; i++)
		seq_printf(m, "%s %llu\n", names[i], READ_ONCE(vdev->hw_counters[i]));
	vze_hw_exit(vdev);
	return 0;
}

static int vze_state_show(struct seq_file *m, void *unused)
{
	struct vze_device *vdev = vze_debugfs_device(m);

	if (!vze_hw_enter(vdev))
		return -ENODEV;
	seq_printf(m, "epoch %#llx\n", vdev->ident.epoch);
	seq_printf(m, "device_state %u\n", READ_ONCE(vdev->regs->device_state));
	seq_printf(m, "heartbeat %llu\n", READ_ONCE(vdev->regs->heartbeat));
	seq_printf(m, "heartbeat_missed %u\n", READ_ONCE(vdev->heartbeat_missed));
	seq_printf(m, "ctrl_tail %u\n", READ_ONCE(vdev->regs->ctrl_tail));
	seq_printf(m, "ctrl_head %u\n", READ_ONCE(vdev->regs->ctrl_head));
	seq_printf(m, "faults %u\n", READ_ONCE(vdev->regs->fault_head));
	seq_printf(m, "faults_dropped %llu\n", READ_ONCE(vdev->regs->faults_dropped));
	seq_printf(m, "lost %u\n", vze_device_is_lost(vdev));
	seq_printf(m, "lost_irqs %d\n", atomic_read(&vdev->lost_irqs));
	vze_hw_exit(vdev);
	return 0;
}

static const struct drm_debugfs_info vze_debugfs_files[] = {
	{ "vze_counts", vze_counts_show },
	{ "vze_hw_counters", vze_hw_counters_show },
	{ "vze_queues", vze_queues_show },
	{ "vze_shares", vze_shares_show },
	{ "vze_state", vze_state_show },
	{ "vze_vms", vze_vms_show },
	{ "vze_vram", vze_vram_show },
};

/**
 * vze_debugfs_init() - announce the files
 * @vdev: device, before its registration
 */
void vze_debugfs_init(struct vze_device *vdev)
{
	drm_debugfs_add_files(&vdev->drm, vze_debugfs_files, ARRAY_SIZE(vze_debugfs_files));
}

// SPDX-License-Identifier: GPL-2.0
/*
 * What /proc/PID/fdinfo says about a client, with the DRM usage statistics' keys.
 */
#include <linux/sizes.h>

#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_print.h>

#include "vze_device.h"
#include "vze_drv.h"
#include "vze_gem.h"
#include "vze_queue.h"
#include "vze_vm.h"

static void fdinfo_add_object(struct drm_memory_stats *stats, struct drm_gem_object *obj)
{
	if (drm_gem_object_is_shared_for_memory_stats(obj))
		stats->shared += obj->size;
	else
		stats->private += obj->size;
	/* There is no paging out: an object is where it is from its creation on. */
	stats->resident += obj->size;
}

/**
 * vze_show_fdinfo() - print the driver's part of fdinfo
 * @p: where to
 * @file: client
 *
 * An opened share counts as system memory, wherever its segments lie. What deferred unmaps of
 * the client wait with stands beside the sums of its objects, in keys of this driver's:
 * vze-deferred-vram and vze-deferred-system are bytes of mappings, with a unit as the
 * standard keys have it, vze-deferred-count is the number of such binds. An object in
 * them has no handle as a rule, and is then in none of the drm-* sums.
 */
void vze_show_fdinfo(struct drm_printer *p, struct drm_file *file)
{
	static const char * const regions[VZE_REGION_COUNT] = {
		[VZE_REGION_VRAM] = "vram",
		[VZE_REGION_SYSTEM] = "system",
	};
	struct drm_memory_stats stats[VZE_REGION_COUNT] = {};
	struct vze_file *vf = to_vze_file(file);
	struct vze_deferred deferred;
	struct drm_gem_object *obj;
	int i;

	drm_printf(p, "drm-engine-transfer:\t%llu ns\n", vze_queues_busy_ns(vf));
	drm_printf(p, "drm-engine-capacity-transfer:\t%u\n", vf->vdev->ident.num_engines);

	spin_lock(&file->table_lock);
	idr_for_each_entry(&file->object_idr, obj, i) {
		fdinfo_add_object(&stats[vze_gem_region(to_vze_gem(obj))], obj);
	}
	spin_unlock(&file->table_lock);

	for (i = 0; i < VZE_REGION_COUNT; i++)
		drm_print_memory_stats(p, &stats[i], DRM_GEM_OBJECT_RESIDENT, regions[i]);

	vze_vms_deferred(vf, &deferred);
	drm_printf(p, "vze-deferred-count:\t%llu\n", deferred.num);
	for (i = 0; i < VZE_REGION_COUNT; i++)
		drm_printf(p, "vze-deferred-%s:\t%llu KiB\n", regions[i],
			   deferred.bytes[i] / SZ_1K);
}

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _VZE_QUEUE_H_
#define _VZE_QUEUE_H_

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include <drm/gpu_scheduler.h>
#include <drm/vze_drm.h>
#include <drm/vze_hw.h>

struct dma_fence;
struct seq_file;
struct vze_device;
struct vze_file;
struct vze_user;
struct vze_vm;

/**
 * struct vze_queue - a queue of a client
 *
 * Referenced by its id in the file, by every job and by whoever looked it up. The
 * hardware queue is given back when the queue is killed, the rest when the last
 * reference goes.
 */
struct vze_queue {
	/** @ref: references */
	struct kref ref;
	/** @vdev: device; holds a reference on its drm_device */
	struct vze_device *vdev;
	/** @file: file that made it; valid until the queue is released */
	struct vze_file *file;
	/** @user: charged for it, until the hardware queue is given back; under @kill_lock */
	struct vze_user *user;
	/** @vm: address space, with a reference */
	struct vze_vm *vm;
	/** @asid: hardware id of @vm */
	u32 asid;
	/** @id: id in the file */
	u32 id;
	/** @hw_id: hardware queue */
	u32 hw_id;
	/** @priority: DRM_VZE_PRIORITY_* */
	u32 priority;
	/** @publish: its jobs must not park, and others wait for them implicitly */
	bool publish;
	/** @hw: its registers in BAR2 */
	struct vze_hw_queue *hw;

	/** @sched: one scheduler per hardware queue */
	struct drm_gpu_scheduler sched;
	/** @entity: the only entity of @sched */
	struct drm_sched_entity entity;
	/** @submit_lock: orders seqno, arm and push of EXECs; taken inside the VM's dma_resv */
	struct mutex submit_lock;
	/** @seqno: last job, protected by @submit_lock */
	u64 seqno;
	/** @context: fence context of jobs; the next one is that of gates */
	u64 context;
	/** @gates: seqno of the last gate */
	atomic64_t gates;

	/** @lock: protects what follows; taken in hard interrupts */
	spinlock_t lock;
	/** @jobs: fences of jobs that have not ended, in order of their seqno */
	struct list_head jobs;
	/** @ring_tail: ring entries ever written */
	u32 ring_tail;
	/** @ring_seqno: seqno of the last ring entry */
	u64 ring_seqno;
	/** @error: 0, or why the queue takes no more work */
	int error;
	/** @state: what QUEUE_STATE answers, but for the id */
	struct drm_vze_queue_state state;

	/** @fault_link: in vze_fault.stopped, with a reference; protected by vze_fault.lock */
	struct list_head fault_link;
	/** @kill_lock: held while the queue is killed */
	struct mutex kill_lock;
	/** @hw_alive: the hardware queue exists; written with @kill_lock and @lock held */
	bool hw_alive;
	/** @failed: a job was failed by the kill; protected by @kill_lock */
	bool failed;
	/** @progress: value of vze_hw_queue.progress when last looked at, watchdog only */
	u64 progress;
	/** @stuck: watchdog periods without progress while running, watchdog only */
	unsigned int stuck;
	/** @parked: watchdog periods in which a job was parked that must not, watchdog only */
	unsigned int parked;
	/** @parked_seqno: value of vze_hw_queue.seqno that @parked is about, watchdog only */
	u64 parked_seqno;
	/** @late: watchdog periods in which a job was complete and not retired, watchdog only */
	unsigned int late;
	/** @busy_ns: device time, once the hardware queue was given back; protected by @lock */
	u64 busy_ns;
	/** @release_work: ends it; the last reference may go in a worker of @sched */
	struct work_struct release_work;
};

int vze_queue_module_init(void);
void vze_queue_module_exit(void);

int vze_queues_init(struct vze_device *vdev);
void vze_queues_fini(struct vze_device *vdev);
void vze_queues_watchdog(struct vze_device *vdev, unsigned int limit, bool tolerant);
void vze_queues_irq(struct vze_device *vdev);
void vze_queues_kill_all(struct vze_device *vdev, int error);
void vze_queues_file_close(struct vze_file *file);
int vze_queues_show(struct seq_file *m, void *unused);
u64 vze_queues_busy_ns(struct vze_file *file);

struct vze_queue *vze_queue_get(struct vze_queue *queue);
void vze_queue_put(struct vze_queue *queue);
void vze_queue_discharge(struct vze_queue *queue);
struct vze_queue *vze_queue_lookup(struct vze_file *file, u32 id);
struct dma_fence *vze_queue_job_fence(struct vze_queue *queue, u64 seqno);
struct vze_queue *vze_queue_by_hw_id(struct vze_device *vdev, u32 hw_id);
void vze_queue_kill(struct vze_queue *queue, int error);
void vze_queue_retire(struct vze_queue *queue);
bool vze_queue_set_fault(struct vze_queue *queue, const struct vze_hw_fault *record);

extern const struct drm_sched_backend_ops vze_sched_ops;

int vze_queue_create_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vze_queue_destroy_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vze_queue_state_ioctl(struct drm_device *drm, void *data, struct drm_file *file);
int vze_exec_ioctl(struct drm_device *drm, void *data, struct drm_file *file);

#endif /* _VZE_QUEUE_H_ */

/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM vze

#if !defined(_VZE_TRACE_H_) || defined(TRACE_HEADER_MULTI_READ)
#define _VZE_TRACE_H_

#include <linux/device.h>
#include <linux/tracepoint.h>
#include <linux/types.h>

#include <drm/vze_drm.h>

TRACE_EVENT(vze_ctrl,
	    TP_PROTO(const struct device *dev, u32 opcode, u32 id, u64 arg0, u64 arg1, int ret),
	    TP_ARGS(dev, opcode, id, arg0, arg1, ret),
	    TP_STRUCT__entry(__string(dev, dev_name(dev))
			     __field(u32, opcode)
			     __field(u32, id)
			     __field(u64, arg0)
			     __field(u64, arg1)
			     __field(int, ret)
	    ),
	    TP_fast_assign(__assign_str(dev);
			   __entry->opcode = opcode;
			   __entry->id = id;
			   __entry->arg0 = arg0;
			   __entry->arg1 = arg1;
			   __entry->ret = ret;
	    ),
	    TP_printk("dev=%s opcode=%u id=%u arg0=%#llx arg1=%#llx ret=%d", __get_str(dev),
		      __entry->opcode, __entry->id, __entry->arg0, __entry->arg1, __entry->ret)
);

TRACE_EVENT(vze_tlb_invalidate,
	    TP_PROTO(const struct device *dev, u32 asid, u64 start, u64 end, int ret),
	    TP_ARGS(dev, asid, start, end, ret),
	    TP_STRUCT__entry(__string(dev, dev_name(dev))
			     __field(u32, asid)
			     __field(u64, start)
			     __field(u64, end)
			     __field(int, ret)
	    ),
	    TP_fast_assign(__assign_str(dev);
			   __entry->asid = asid;
			   __entry->start = start;
			   __entry->end = end;
			   __entry->ret = ret;
	    ),
	    TP_printk("dev=%s asid=%u start=%#llx end=%#llx ret=%d", __get_str(dev),
		      __entry->asid, __entry->start, __entry->end, __entry->ret)
);

TRACE_EVENT(vze_exec,
	    TP_PROTO(const struct device *dev, u32 queue, u64 seqno, u32 batches, u32 waits,
		     u32 signals),
	    TP_ARGS(dev, queue, seqno, batches, waits, signals),
	    TP_STRUCT__entry(__string(dev, dev_name(dev))
			     __field(u32, queue)
			     __field(u64, seqno)
			     __field(u32, batches)
			     __field(u32, waits)
			     __field(u32, signals)
	    ),
	    TP_fast_assign(__assign_str(dev);
			   __entry->queue = queue;
			   __entry->seqno = seqno;
			   __entry->batches = batches;
			   __entry->waits = waits;
			   __entry->signals = signals;
	    ),
	    TP_printk("dev=%s queue=%u seqno=%llu batches=%u waits=%u signals=%u", __get_str(dev),
		      __entry->queue, __entry->seqno, __entry->batches, __entry->waits,
		      __entry->signals)
);

TRACE_EVENT(vze_job_run,
	    TP_PROTO(const struct device *dev, u32 queue, u64 seqno, u64 first, u64 last, int ret),
	    TP_ARGS(dev, queue, seqno, first, last, ret),
	    TP_STRUCT__entry(__string(dev, dev_name(dev))
			     __field(u32, queue)
			     __field(u64, seqno)
			     __field(u64, first)
			     __field(u64, last)
			     __field(int, ret)
	    ),
	    TP_fast_assign(__assign_str(dev);
			   __entry->queue = queue;
			   __entry->seqno = seqno;
			   __entry->first = first;
			   __entry->last = last;
			   __entry->ret = ret;
	    ),
	    TP_printk("dev=%s queue=%u seqno=%llu ring=%llu..%llu ret=%d", __get_str(dev),
		      __entry->queue, __entry->seqno, __entry->first, __entry->last, __entry->ret)
);

TRACE_EVENT(vze_job_done,
	    TP_PROTO(const struct device *dev, u32 queue, u64 seqno, int error),
	    TP_ARGS(dev, queue, seqno, error),
	    TP_STRUCT__entry(__string(dev, dev_name(dev))
			     __field(u32, queue)
			     __field(u64, seqno)
			     __field(int, error)
	    ),
	    TP_fast_assign(__assign_str(dev);
			   __entry->queue = queue;
			   __entry->seqno = seqno;
			   __entry->error = error;
	    ),
	    TP_printk("dev=%s queue=%u seqno=%llu error=%d", __get_str(dev),
		      __entry->queue, __entry->seqno, __entry->error)
);

TRACE_EVENT(vze_queue_kill,
	    TP_PROTO(const struct device *dev, u32 queue, int error),
	    TP_ARGS(dev, queue, error),
	    TP_STRUCT__entry(__string(dev, dev_name(dev))
			     __field(u32, queue)
			     __field(int, error)
	    ),
	    TP_fast_assign(__assign_str(dev);
			   __entry->queue = queue;
			   __entry->error = error;
	    ),
	    TP_printk("dev=%s queue=%u error=%d", __get_str(dev), __entry->queue, __entry->error)
);

TRACE_EVENT(vze_fault,
	    TP_PROTO(const struct device *dev, u32 queue, u32 asid,
		     const struct drm_vze_queue_state *state),
	    TP_ARGS(dev, queue, asid, state),
	    TP_STRUCT__entry(__string(dev, dev_name(dev))
			     __field(u32, queue)
			     __field(u32, asid)
			     __field(u64, va)
			     __field(u64, seqno)
			     __field(u32, command)
			     __field(u32, reason)
			     __field(u32, access)
	    ),
	    TP_fast_assign(__assign_str(dev);
			   __entry->queue = queue;
			   __entry->asid = asid;
			   __entry->va = state->va;
			   __entry->seqno = state->seqno;
			   __entry->command = state->command;
			   __entry->reason = state->reason;
			   __entry->access = state->access;
	    ),
	    TP_printk("dev=%s queue=%u asid=%u va=%#llx seqno=%llu command=%u reason=%u access=%u",
		      __get_str(dev), __entry->queue, __entry->asid, __entry->va, __entry->seqno,
		      __entry->command, __entry->reason, __entry->access)
);

TRACE_EVENT(vze_share,
	    TP_PROTO(const struct device *dev, u64 id, u32 state, u32 views, u64 size,
		     u32 segments),
	    TP_ARGS(dev, id, state, views, size, segments),
	    TP_STRUCT__entry(__string(dev, dev_name(dev))
			     __field(u64, id)
			     __field(u32, state)
			     __field(u32, views)
			     __field(u64, size)
			     __field(u32, segments)
	    ),
	    TP_fast_assign(__assign_str(dev);
			   __entry->id = id;
			   __entry->state = state;
			   __entry->views = views;
			   __entry->size = size;
			   __entry->segments = segments;
	    ),
	    TP_printk("dev=%s id=%llu state=%u views=%u size=%llu segments=%u", __get_str(dev),
		      __entry->id, __entry->state, __entry->views, __entry->size,
		      __entry->segments)
);

#endif /* _VZE_TRACE_H_ */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE vze_trace
#include <trace/define_trace.h>

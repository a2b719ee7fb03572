; The call gate: from Python objects to compiled code without a Python frame.
;
; @gate is a C function of Python's METH_FASTCALL kind. Its self is a bytes object that holds a %Record: what to
; call, and what the arguments must look like. It returns a small int: 0 done, 1 some argument does not fit exactly
; (the caller converts or complains), 2 a non-finite input, 3 a non-finite output. @make is the same for functions with
; one output, which it allocates and returns; or None where the gate would have a complaint. @make_several is the same
; for more outputs, in a tuple. @unpack is @make with some inputs in a dict, or as one array. @front is @make or, with
; out=, @gate, for calls as users write them; another function serves all calls that it does not.
;
; The constants @type_of, @bytes_data, @data_of, @ndim_of, @extents_of, @descr_of and @flags_of (byte offsets inside
; objects, measured at start-up) are defined by gate.py in front of this text; so are @pause, @wake and @sleep, which
; depend on the processor and the operating system.

%Shape = type { i64, i64, [3 x i64] }                                       ; numbers in an element, its ndim, its extents
%Record = type { ptr, ptr, i64, i64, i64, i64, ptr, ptr, i64, i64, ptr, i64, ptr, i64, [0 x %Shape] }
; 0 entry, 1 context, 2 arrays, 3 inputs among them, 4 batched (0 or 1), 5 bytes of a number, 6 ndarray type,
; 7 dtype, 8 whether to check outputs, 9 rows to handle at once, 10 None, 11 numpy's number of the dtype,
; 12 null or the queue of rows that several threads take from, 13 a bit for each input that need not be checked, 14 shapes
%Queue = type { i64, i64, i64, ptr }
; first row that is left, rows to take at once, helpers, and for each of them its worker and the record that it works with
%Worker = type { i32, i32, ptr, ptr, i64, i64 }
; 0 what goes on there (0 nothing, 1 work waits, 2 it is being done, 3 the helper is to leave), 1 whether the helper is
; asleep, 2 record, 3 pointers, 4 batch, 5 status

declare ptr @PyLong_FromLong(i64)
declare ptr @PyArray_New(ptr, i32, ptr, i32, ptr, ptr, i32, i32, ptr)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyDict_GetItemWithError(ptr, ptr)
declare ptr @PyCFunction_GetFunction(ptr)
declare ptr @PyCFunction_GetSelf(ptr)
declare ptr @PyObject_GenericGetDict(ptr, ptr)
declare void @PyErr_Clear()
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare i64 @PyDict_Size(ptr)
declare i32 @PyDict_Next(ptr, ptr, ptr, ptr)
declare i32 @PyUnicode_Compare(ptr, ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare i32 @sched_yield()
declare i64 @llvm.smin.i64(i64, i64)
declare <16 x i32> @llvm.umax.v16i32(<16 x i32>, <16 x i32>)
declare i1 @llvm.vector.reduce.or.v16i1(<16 x i1>)
declare <8 x i32> @llvm.umax.v8i32(<8 x i32>, <8 x i32>)
declare i1 @llvm.vector.reduce.or.v8i1(<8 x i1>)

; A field of an object, by its byte offset.
define internal ptr @field(ptr %object, ptr %offset_constant) alwaysinline {
  %offset = load i64, ptr %offset_constant
  %p = getelementptr i8, ptr %object, i64 %offset
  ret ptr %p
}

; Copy n pointers.
define internal void @copy(ptr %from, ptr %to, i64 %n) alwaysinline {
entry:
  br label %next
next:
  %k = phi i64 [ 0, %entry ], [ %k.next, %one ]
  %left = icmp slt i64 %k, %n
  br i1 %left, label %one, label %done
one:
  %source = getelementptr ptr, ptr %from, i64 %k
  %x = load ptr, ptr %source
  %target = getelementptr ptr, ptr %to, i64 %k
  store ptr %x, ptr %target
  %k.next = add i64 %k, 1
  br label %next
done:
  ret void
}

define internal i64 @size_of(ptr %record, i64 %k) alwaysinline {
  %p = getelementptr %Record, ptr %record, i64 0, i32 14, i64 %k, i32 0
  %size = load i64, ptr %p
  ret i64 %size
}

; For 16 words of 32 bits: the bits of an exponent, and what they are in an infinity or NaN. A double has its exponent
; in its second word; its first is never found bad.
@double_bits = internal constant <16 x i32> <i32 0, i32 2146435072, i32 0, i32 2146435072, i32 0, i32 2146435072, i32 0, i32 2146435072, i32 0, i32 2146435072, i32 0, i32 2146435072, i32 0, i32 2146435072, i32 0, i32 2146435072>
@double_bad = internal constant <16 x i32> <i32 1, i32 2146435072, i32 1, i32 2146435072, i32 1, i32 2146435072, i32 1, i32 2146435072, i32 1, i32 2146435072, i32 1, i32 2146435072, i32 1, i32 2146435072, i32 1, i32 2146435072>
@float_bits = internal constant <16 x i32> <i32 2139095040, i32 2139095040, i32 2139095040, i32 2139095040, i32 2139095040, i32 2139095040, i32 2139095040, i32 2139095040, i32 2139095040, i32 2139095040, i32 2139095040, i32 2139095040, i32 2139095040, i32 2139095040, i32 2139095040, i32 2139095040>
@float_bad = internal constant <16 x i32> <i32 2139095040, i32 2139095040, i32 2139095040, i32 2139095040, i32 2139095040, i32 2139095040, i32 2139095040, i32 2139095040, i32 2139095040, i32 2139095040, i32 2139095040, i32 2139095040, i32 2139095040, i32 2139095040, i32 2139095040, i32 2139095040>

define internal <16 x i32> @larger(<16 x i32> %most, ptr %data, <16 x i32> %bits) alwaysinline {
  %numbers = load <16 x i32>, ptr %data, align 4
  %exponents = and <16 x i32> %numbers, %bits
  %larger = call <16 x i32> @llvm.umax.v16i32(<16 x i32> %most, <16 x i32> %exponents)
  ret <16 x i32> %larger
}

; Are n numbers finite? Sixteen words at a time, the last sixteen overlapping; fewer by eights, less than eight one by one.
define internal i1 @finite(ptr %record, ptr %data, i64 %n) {
entry:
  %item.p = getelementptr %Record, ptr %record, i64 0, i32 5
  %item = load i64, ptr %item.p
  %wide = icmp eq i64 %item, 8
  %bits.p = select i1 %wide, ptr @double_bits, ptr @float_bits
  %bad.p = select i1 %wide, ptr @double_bad, ptr @float_bad
  %per.number = select i1 %wide, i64 2, i64 1
  %words = mul i64 %n, %per.number
  %last = sub i64 %words, 16
  %few = icmp slt i64 %last, 0
  br i1 %few, label %short, label %begin
short:
  %last.8 = sub i64 %words, 8
  %is.tiny = icmp slt i64 %last.8, 0
  br i1 %is.tiny, label %single, label %eights
eights:
  %bits.8 = load <8 x i32>, ptr %bits.p
  %bad.8 = load <8 x i32>, ptr %bad.p
  %tail.p = getelementptr i32, ptr %data, i64 %last.8
  %head.8 = load <8 x i32>, ptr %data, align 4
  %tail.8 = load <8 x i32>, ptr %tail.p, align 4
  %head.bits = and <8 x i32> %head.8, %bits.8
  %tail.bits = and <8 x i32> %tail.8, %bits.8
  %most.8 = call <8 x i32> @llvm.umax.v8i32(<8 x i32> %head.bits, <8 x i32> %tail.bits)
  %found.8 = icmp eq <8 x i32> %most.8, %bad.8
  %any.8 = call i1 @llvm.vector.reduce.or.v8i1(<8 x i1> %found.8)
  %none.8 = xor i1 %any.8, true
  ret i1 %none.8
begin:
  %bits = load <16 x i32>, ptr %bits.p
  %bad = load <16 x i32>, ptr %bad.p
  %long.end = sub i64 %words, 63
  br label %long
long:                                                       ; the largest exponents of 64 words at a time
  %i = phi i64 [ 0, %begin ], [ %i.next, %long.body ]
  %most = phi <16 x i32> [ zeroinitializer, %begin ], [ %most.4, %long.body ]
  %is.long = icmp slt i64 %i, %long.end
  br i1 %is.long, label %long.body, label %rest
long.body:
  %p.1 = getelementptr i32, ptr %data, i64 %i
  %p.2 = getelementptr i8, ptr %p.1, i64 64
  %p.3 = getelementptr i8, ptr %p.1, i64 128
  %p.4 = getelementptr i8, ptr %p.1, i64 192
  %most.1 = call <16 x i32> @larger(<16 x i32> %most, ptr %p.1, <16 x i32> %bits)
  %most.2 = call <16 x i32> @larger(<16 x i32> %most.1, ptr %p.2, <16 x i32> %bits)
  %most.3 = call <16 x i32> @larger(<16 x i32> %most.2, ptr %p.3, <16 x i32> %bits)
  %most.4 = call <16 x i32> @larger(<16 x i32> %most.3, ptr %p.4, <16 x i32> %bits)
  %i.next = add i64 %i, 64
  br label %long
rest:                                                       ; then 16 at a time
  %r = phi i64 [ %i, %long ], [ %r.next, %rest.body ]
  %most.r = phi <16 x i32> [ %most, %long ], [ %most.next, %rest.body ]
  %is.rest = icmp slt i64 %r, %words
  br i1 %is.rest, label %rest.body, label %verdict
rest.body:
  %at = call i64 @llvm.smin.i64(i64 %r, i64 %last)
  %p = getelementptr i32, ptr %data, i64 %at
  %most.next = call <16 x i32> @larger(<16 x i32> %most.r, ptr %p, <16 x i32> %bits)
  %r.next = add i64 %r, 16
  br label %rest
verdict:
  %found = icmp eq <16 x i32> %most.r, %bad
  %any = call i1 @llvm.vector.reduce.or.v16i1(<16 x i1> %found)
  %none = xor i1 %any, true
  ret i1 %none
single:
  %j = phi i64 [ 0, %short ], [ %j.next, %word ]
  %left = icmp slt i64 %j, %words
  br i1 %left, label %word, label %good
word:
  %number.p = getelementptr i32, ptr %data, i64 %j
  %number = load i32, ptr %number.p
  %own.bits.p = getelementptr i32, ptr %bits.p, i64 %j
  %own.bits = load i32, ptr %own.bits.p
  %own.bad.p = getelementptr i32, ptr %bad.p, i64 %j
  %own.bad = load i32, ptr %own.bad.p
  %exponent = and i32 %number, %own.bits
  %wrong = icmp eq i32 %exponent, %own.bad
  %j.next = add i64 %j, 1
  br i1 %wrong, label %not.finite, label %single
good:
  ret i1 true
not.finite:
  ret i1 false
}

; Does the k-th argument have the right type, dtype, flags and shape, but for its batch size?
define internal i1 @fits(ptr %record, ptr %argument, i64 %k) alwaysinline {
entry:
  %type.p = call ptr @field(ptr %argument, ptr @type_of)
  %type = load ptr, ptr %type.p
  %ndarray.p = getelementptr %Record, ptr %record, i64 0, i32 6
  %ndarray = load ptr, ptr %ndarray.p
  %is.array = icmp eq ptr %type, %ndarray
  br i1 %is.array, label %array, label %no
array:
  %descr.p = call ptr @field(ptr %argument, ptr @descr_of)
  %descr = load ptr, ptr %descr.p
  %dtype.p = getelementptr %Record, ptr %record, i64 0, i32 7
  %dtype = load ptr, ptr %dtype.p
  %same.dtype = icmp eq ptr %descr, %dtype
  %flags.p = call ptr @field(ptr %argument, ptr @flags_of)
  %flags = load i32, ptr %flags.p
  %inputs.p = getelementptr %Record, ptr %record, i64 0, i32 3
  %inputs = load i64, ptr %inputs.p
  %is.input = icmp slt i64 %k, %inputs
  %wanted = select i1 %is.input, i32 257, i32 1281       ; C_CONTIGUOUS 1 | ALIGNED 256, and WRITEABLE 1024
  %present = and i32 %flags, %wanted
  %flags.fit = icmp eq i32 %present, %wanted
  %batched.p = getelementptr %Record, ptr %record, i64 0, i32 4
  %batched = load i64, ptr %batched.p
  %ndim.p = getelementptr %Record, ptr %record, i64 0, i32 14, i64 %k, i32 1
  %ndim = load i64, ptr %ndim.p
  %nd.p = call ptr @field(ptr %argument, ptr @ndim_of)
  %nd32 = load i32, ptr %nd.p
  %nd = sext i32 %nd32 to i64
  %nd.wanted = add i64 %ndim, %batched
  %nd.fits = icmp eq i64 %nd, %nd.wanted
  %both = and i1 %same.dtype, %flags.fit
  %all = and i1 %both, %nd.fits
  br i1 %all, label %shape, label %no
shape:
  %extents.p = call ptr @field(ptr %argument, ptr @extents_of)
  %extents = load ptr, ptr %extents.p
  %own = getelementptr i64, ptr %extents, i64 %batched
  br label %next
next:
  %d = phi i64 [ 0, %shape ], [ %d.next, %compare ]
  %left = icmp slt i64 %d, %ndim
  br i1 %left, label %compare, label %yes
compare:
  %given.p = getelementptr i64, ptr %own, i64 %d
  %given = load i64, ptr %given.p
  %asked.p = getelementptr %Record, ptr %record, i64 0, i32 14, i64 %k, i32 2, i64 %d
  %asked = load i64, ptr %asked.p
  %d.next = add i64 %d, 1
  %equal = icmp eq i64 %given, %asked
  br i1 %equal, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

define internal i64 @batch_of(ptr %record, ptr %argument) alwaysinline {
entry:
  %batched.p = getelementptr %Record, ptr %record, i64 0, i32 4
  %batched = load i64, ptr %batched.p
  %many = icmp ne i64 %batched, 0
  br i1 %many, label %first, label %one
first:
  %extents.p = call ptr @field(ptr %argument, ptr @extents_of)
  %extents = load ptr, ptr %extents.p
  %batch = load i64, ptr %extents
  ret i64 %batch
one:
  ret i64 1
}

define internal i64 @bytes_in(ptr %record, i64 %k, i64 %rows) alwaysinline {
  %size = call i64 @size_of(ptr %record, i64 %k)
  %item.p = getelementptr %Record, ptr %record, i64 0, i32 5
  %item = load i64, ptr %item.p
  %row = mul i64 %size, %item
  %bytes = mul i64 %row, %rows
  ret i64 %bytes
}

; Does the k-th array share memory with one before it?
define internal i1 @overlaps(ptr %record, ptr %pointers, i64 %k, i64 %batch) alwaysinline {
entry:
  %p = getelementptr ptr, ptr %pointers, i64 %k
  %begin = load ptr, ptr %p
  %bytes = call i64 @bytes_in(ptr %record, i64 %k, i64 %batch)
  %end = getelementptr i8, ptr %begin, i64 %bytes
  br label %next
next:
  %j = phi i64 [ 0, %entry ], [ %j.next, %other ]
  %left = icmp slt i64 %j, %k
  br i1 %left, label %other, label %no
other:
  %q = getelementptr ptr, ptr %pointers, i64 %j
  %other.begin = load ptr, ptr %q
  %other.bytes = call i64 @bytes_in(ptr %record, i64 %j, i64 %batch)
  %other.end = getelementptr i8, ptr %other.begin, i64 %other.bytes
  %starts.before = icmp ult ptr %begin, %other.end
  %ends.after = icmp ult ptr %other.begin, %end
  %fewer = call i64 @llvm.smin.i64(i64 %bytes, i64 %other.bytes)
  %some = icmp sgt i64 %fewer, 0
  %cross = and i1 %starts.before, %ends.after
  %meet = and i1 %cross, %some
  %j.next = add i64 %j, 1
  br i1 %meet, label %yes, label %next
yes:
  ret i1 true
no:
  ret i1 false
}

; Check the inputs of some rows, compute, check the outputs where the code has not seen them all finite; a status.
define internal i64 @run_rows(ptr %record, ptr %pointers, i64 %row, i64 %rows) {
entry:
  %moved = alloca [64 x ptr]
  %arrays.p = getelementptr %Record, ptr %record, i64 0, i32 2
  %arrays = load i64, ptr %arrays.p
  %inputs.p = getelementptr %Record, ptr %record, i64 0, i32 3
  %inputs = load i64, ptr %inputs.p
  %unchecked.p = getelementptr %Record, ptr %record, i64 0, i32 13
  %unchecked = load i64, ptr %unchecked.p
  br label %move
move:
  %k = phi i64 [ 0, %entry ], [ %k.next, %move.on ]
  %start.p = getelementptr ptr, ptr %pointers, i64 %k
  %start = load ptr, ptr %start.p
  %skip = call i64 @bytes_in(ptr %record, i64 %k, i64 %row)
  %data = getelementptr i8, ptr %start, i64 %skip
  %target = getelementptr ptr, ptr %moved, i64 %k
  store ptr %data, ptr %target
  %is.input = icmp slt i64 %k, %inputs
  %unchecked.bits = lshr i64 %unchecked, %k
  %is.unchecked = trunc i64 %unchecked.bits to i1
  %is.doubtful = xor i1 %is.unchecked, true
  %is.checked = and i1 %is.input, %is.doubtful
  br i1 %is.checked, label %check.input, label %move.on
check.input:
  %size = call i64 @size_of(ptr %record, i64 %k)
  %count = mul i64 %size, %rows
  %good = call i1 @finite(ptr %record, ptr %data, i64 %count)
  br i1 %good, label %move.on, label %bad.input
move.on:
  %k.next = add i64 %k, 1
  %k.more = icmp slt i64 %k.next, %arrays
  br i1 %k.more, label %move, label %compute
compute:
  %entry.p = getelementptr %Record, ptr %record, i64 0, i32 0
  %function = load ptr, ptr %entry.p
  %context.p = getelementptr %Record, ptr %record, i64 0, i32 1
  %context = load ptr, ptr %context.p
  %seen = call i64 %function(ptr %moved, i64 %rows, ptr %context)
  %unseen = icmp eq i64 %seen, 0
  %checks.p = getelementptr %Record, ptr %record, i64 0, i32 8
  %checks = load i64, ptr %checks.p
  %wanted = icmp ne i64 %checks, 0
  %checked = and i1 %wanted, %unseen
  br i1 %checked, label %output, label %done
output:
  %o = phi i64 [ %inputs, %compute ], [ %o.next, %check.output ]
  %o.left = icmp slt i64 %o, %arrays
  br i1 %o.left, label %check.output, label %done
check.output:
  %o.data.p = getelementptr ptr, ptr %moved, i64 %o
  %o.data = load ptr, ptr %o.data.p
  %o.size = call i64 @size_of(ptr %record, i64 %o)
  %o.count = mul i64 %o.size, %rows
  %o.good = call i1 @finite(ptr %record, ptr %o.data, i64 %o.count)
  %o.next = add i64 %o, 1
  br i1 %o.good, label %output, label %bad.output
done:
  ret i64 0
bad.input:
  ret i64 2
bad.output:
  ret i64 3
}

; All rows, a few at a time, so that they are checked while they are in the cache; or, of a queue, those that no other
; thread takes.
define internal i64 @run(ptr %record, ptr %pointers, i64 %batch) {
entry:
  %at.once.p = getelementptr %Record, ptr %record, i64 0, i32 9
  %queue.p = getelementptr %Record, ptr %record, i64 0, i32 12
  %queue = load ptr, ptr %queue.p
  %alone = icmp eq ptr %queue, null
  %queue.rows.p = getelementptr %Queue, ptr %queue, i64 0, i32 1
  %rows.p = select i1 %alone, ptr %at.once.p, ptr %queue.rows.p
  %at.once = load i64, ptr %rows.p
  br i1 %alone, label %next, label %take
take:
  %taken = atomicrmw add ptr %queue, i64 %at.once monotonic
  br label %next
next:
  %row = phi i64 [ 0, %entry ], [ %taken, %take ], [ %row.next, %go.on ]
  %left = sub i64 %batch, %row
  %any = icmp sgt i64 %left, 0
  br i1 %any, label %some, label %done
some:
  %rows = call i64 @llvm.smin.i64(i64 %left, i64 %at.once)
  %status = call i64 @run_rows(ptr %record, ptr %pointers, i64 %row, i64 %rows)
  %row.next = add i64 %row, %rows
  %good = icmp eq i64 %status, 0
  br i1 %good, label %go.on, label %bad
go.on:
  br i1 %alone, label %next, label %take
done:
  ret i64 0
bad:
  ret i64 %status
}

; With helpers: work is laid on their workers, done here as far as they leave any, and taken back where no one has begun.
; Nobody needs Python's lock for it. The worst status.
define internal i64 @run_together(ptr %record, ptr %pointers, i64 %batch) {
entry:
  %queue.p = getelementptr %Record, ptr %record, i64 0, i32 12
  %queue = load ptr, ptr %queue.p
  %alone = icmp eq ptr %queue, null
  br i1 %alone, label %single, label %count
single:
  %only = call i64 @run(ptr %record, ptr %pointers, i64 %batch)
  ret i64 %only
count:
  %helpers.p = getelementptr %Queue, ptr %queue, i64 0, i32 2
  %helpers = load i64, ptr %helpers.p
  %table.p = getelementptr %Queue, ptr %queue, i64 0, i32 3
  %table = load ptr, ptr %table.p
  br label %ask
ask:
  %k = phi i64 [ 0, %count ], [ %k.next, %asked ]
  %k.left = icmp slt i64 %k, %helpers
  br i1 %k.left, label %lay, label %work
lay:
  %k.2 = shl i64 %k, 1
  %worker.p = getelementptr ptr, ptr %table, i64 %k.2
  %worker = load ptr, ptr %worker.p
  %its.p = getelementptr ptr, ptr %worker.p, i64 1
  %its = load ptr, ptr %its.p
  %its.record = getelementptr %Worker, ptr %worker, i64 0, i32 2
  store ptr %its, ptr %its.record
  %its.pointers = getelementptr %Worker, ptr %worker, i64 0, i32 3
  store ptr %pointers, ptr %its.pointers
  %its.batch = getelementptr %Worker, ptr %worker, i64 0, i32 4
  store i64 %batch, ptr %its.batch
  store atomic i32 1, ptr %worker seq_cst, align 4
  %asleep.p = getelementptr %Worker, ptr %worker, i64 0, i32 1
  %asleep = load atomic i32, ptr %asleep.p seq_cst, align 4
  %sleeps = icmp ne i32 %asleep, 0
  br i1 %sleeps, label %wake, label %asked
wake:
  call void @wake(ptr %worker)
  br label %asked
asked:
  %k.next = add i64 %k, 1
  br label %ask
work:
  %own = call i64 @run(ptr %record, ptr %pointers, i64 %batch)
  br label %collect
collect:
  %j = phi i64 [ 0, %work ], [ %j.next, %settled ]
  %worst = phi i64 [ %own, %work ], [ %worse, %settled ]
  %j.left = icmp slt i64 %j, %helpers
  br i1 %j.left, label %back, label %done
back:
  %j.2 = shl i64 %j, 1
  %other.p = getelementptr ptr, ptr %table, i64 %j.2
  %other = load ptr, ptr %other.p
  %taken = cmpxchg ptr %other, i32 1, i32 0 seq_cst seq_cst
  %was.waiting = extractvalue { i32, i1 } %taken, 1
  br i1 %was.waiting, label %settled, label %look
look:
  %looks = phi i64 [ 0, %back ], [ %looks.next, %on ]
  %state = load atomic i32, ptr %other acquire, align 4
  %busy = icmp ne i32 %state, 0
  br i1 %busy, label %on.looking, label %finished
on.looking:
  call void @pause()
  %looks.next = add i64 %looks, 1
  %some = and i64 %looks.next, 1023
  %long = icmp eq i64 %some, 0
  br i1 %long, label %rest, label %on
rest:                                                       ; it may have no core to run on
  %ignored = call i32 @sched_yield()
  br label %on
on:
  br label %look
finished:
  %status.p = getelementptr %Worker, ptr %other, i64 0, i32 5
  %status = load i64, ptr %status.p
  br label %settled
settled:
  %its.status = phi i64 [ 0, %back ], [ %status, %finished ]
  %is.worse = icmp sgt i64 %its.status, %worst
  %worse = select i1 %is.worse, i64 %its.status, i64 %worst
  %j.next = add i64 %j, 1
  br label %collect
done:
  ret i64 %worst
}

; What a helper does all its life: watch its worker for so many looks, sleep, do what is laid there.
define i64 @serve(ptr %worker, i64 %patience) {
entry:
  %asleep.p = getelementptr %Worker, ptr %worker, i64 0, i32 1
  br label %watch
watch:
  %looks = phi i64 [ 0, %entry ], [ 0, %finished ], [ 0, %woken ], [ %looks.next, %again ]
  %state = load atomic i32, ptr %worker acquire, align 4
  %idle = icmp eq i32 %state, 0
  br i1 %idle, label %patient, label %look
patient:
  %more = icmp slt i64 %looks, %patience
  br i1 %more, label %again, label %sleep
again:
  call void @pause()
  %looks.next = add i64 %looks, 1
  br label %watch
sleep:
  store atomic i32 1, ptr %asleep.p seq_cst, align 4
  call void @sleep(ptr %worker)                               ; not at all if the worker is no longer empty
  br label %woken
woken:
  store atomic i32 0, ptr %asleep.p seq_cst, align 4
  br label %watch
look:
  %begun = cmpxchg ptr %worker, i32 1, i32 2 seq_cst seq_cst
  %mine = extractvalue { i32, i1 } %begun, 1
  br i1 %mine, label %work, label %leave
work:
  %record.p = getelementptr %Worker, ptr %worker, i64 0, i32 2
  %record = load ptr, ptr %record.p
  %pointers.p = getelementptr %Worker, ptr %worker, i64 0, i32 3
  %pointers = load ptr, ptr %pointers.p
  %batch.p = getelementptr %Worker, ptr %worker, i64 0, i32 4
  %batch = load i64, ptr %batch.p
  %status = call i64 @run(ptr %record, ptr %pointers, i64 %batch)
  %status.p = getelementptr %Worker, ptr %worker, i64 0, i32 5
  store i64 %status, ptr %status.p
  br label %finished
finished:
  store atomic i32 0, ptr %worker seq_cst, align 4
  br label %watch
leave:
  %now = load atomic i32, ptr %worker acquire, align 4
  %gone = icmp eq i32 %now, 3
  br i1 %gone, label %end, label %finished.not
finished.not:                                               ; the work was taken back in time
  br label %woken
end:
  ret i64 0
}

; Check the arguments and run; a status.
define internal i64 @attempt(ptr %record, ptr %arguments, i64 %given) {
entry:
  %pointers = alloca [64 x ptr]
  %arrays.p = getelementptr %Record, ptr %record, i64 0, i32 2
  %arrays = load i64, ptr %arrays.p
  %inputs.p = getelementptr %Record, ptr %record, i64 0, i32 3
  %inputs = load i64, ptr %inputs.p
  %complete = icmp eq i64 %given, %arrays
  br i1 %complete, label %begin, label %misfit
begin:
  %first = load ptr, ptr %arguments
  %first.fits = call i1 @fits(ptr %record, ptr %first, i64 0)
  br i1 %first.fits, label %measure, label %misfit
measure:
  %batch = call i64 @batch_of(ptr %record, ptr %first)
  br label %next
next:
  %k = phi i64 [ 0, %measure ], [ %k.next, %on ]
  %argument.p = getelementptr ptr, ptr %arguments, i64 %k
  %argument = load ptr, ptr %argument.p
  %argument.fits = call i1 @fits(ptr %record, ptr %argument, i64 %k)
  br i1 %argument.fits, label %rows, label %misfit
rows:
  %own.batch = call i64 @batch_of(ptr %record, ptr %argument)
  %same = icmp eq i64 %own.batch, %batch
  br i1 %same, label %take, label %misfit
take:
  %data.p = call ptr @field(ptr %argument, ptr @data_of)
  %data = load ptr, ptr %data.p
  %pointer.p = getelementptr ptr, ptr %pointers, i64 %k
  store ptr %data, ptr %pointer.p
  %is.input = icmp slt i64 %k, %inputs
  br i1 %is.input, label %on, label %output
output:
  %shared = call i1 @overlaps(ptr %record, ptr %pointers, i64 %k, i64 %batch)
  br i1 %shared, label %misfit, label %on
on:
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, %arrays
  br i1 %more, label %next, label %call
call:
  %long = icmp sgt i64 %batch, 1
  br i1 %long, label %unlocked, label %locked
unlocked:
  %thread = call ptr @PyEval_SaveThread()
  %u = call i64 @run_together(ptr %record, ptr %pointers, i64 %batch)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %done
locked:
  %l = call i64 @run(ptr %record, ptr %pointers, i64 %batch)
  br label %done
misfit:
  br label %done
done:
  %status = phi i64 [ %u, %unlocked ], [ %l, %locked ], [ 1, %misfit ]
  ret i64 %status
}

define ptr @gate(ptr %self, ptr %arguments, i64 %given) {
  %record = call ptr @field(ptr %self, ptr @bytes_data)
  %status = call i64 @attempt(ptr %record, ptr %arguments, i64 %given)
  %answer = call ptr @PyLong_FromLong(i64 %status)
  ret ptr %answer
}

define internal ptr @new_output(ptr %record, i64 %k) {
  %ndarray.p = getelementptr %Record, ptr %record, i64 0, i32 6
  %ndarray = load ptr, ptr %ndarray.p
  %number.p = getelementptr %Record, ptr %record, i64 0, i32 11
  %number = load i64, ptr %number.p
  %type = trunc i64 %number to i32
  %ndim.p = getelementptr %Record, ptr %record, i64 0, i32 14, i64 %k, i32 1
  %ndim = load i64, ptr %ndim.p
  %nd = trunc i64 %ndim to i32
  %extents = getelementptr %Record, ptr %record, i64 0, i32 14, i64 %k, i32 2
  %new = call ptr @PyArray_New(ptr %ndarray, i32 %nd, ptr %extents, i32 %type, ptr null, ptr null, i32 0, i32 0, ptr null)
  ret ptr %new
}

define ptr @make(ptr %self, ptr %arguments, i64 %given) {
entry:
  %all = alloca [65 x ptr]
  %record = call ptr @field(ptr %self, ptr @bytes_data)
  %inputs.p = getelementptr %Record, ptr %record, i64 0, i32 3
  %inputs = load i64, ptr %inputs.p
  %complete = icmp eq i64 %given, %inputs
  br i1 %complete, label %allocate, label %none
allocate:
  call void @copy(ptr %arguments, ptr %all, i64 %inputs)
  %output = call ptr @new_output(ptr %record, i64 %inputs)
  %failed = icmp eq ptr %output, null
  br i1 %failed, label %error, label %run
run:
  %last = getelementptr ptr, ptr %all, i64 %inputs
  store ptr %output, ptr %last
  %count = add i64 %inputs, 1
  %status = call i64 @attempt(ptr %record, ptr %all, i64 %count)
  %good = icmp eq i64 %status, 0
  br i1 %good, label %done, label %drop
done:
  ret ptr %output
drop:
  call void @Py_DecRef(ptr %output)
  br label %none
none:
  %none.p = getelementptr %Record, ptr %record, i64 0, i32 10
  %nothing = load ptr, ptr %none.p
  call void @Py_IncRef(ptr %nothing)
  ret ptr %nothing
error:
  ret ptr null
}

define ptr @make_several(ptr %self, ptr %arguments, i64 %given) {
entry:
  %all = alloca [65 x ptr]
  %record = call ptr @field(ptr %self, ptr @bytes_data)
  %arrays.p = getelementptr %Record, ptr %record, i64 0, i32 2
  %arrays = load i64, ptr %arrays.p
  %inputs.p = getelementptr %Record, ptr %record, i64 0, i32 3
  %inputs = load i64, ptr %inputs.p
  %complete = icmp eq i64 %given, %inputs
  br i1 %complete, label %allocate, label %none
allocate:
  call void @copy(ptr %arguments, ptr %all, i64 %inputs)
  %tuple.size = sub i64 %arrays, %inputs
  %tuple = call ptr @PyTuple_New(i64 %tuple.size)             ; it owns the outputs from the start
  %no.tuple = icmp eq ptr %tuple, null
  br i1 %no.tuple, label %error, label %next
next:
  %j = phi i64 [ %inputs, %allocate ], [ %j.next, %keep ]
  %j.left = icmp slt i64 %j, %arrays
  br i1 %j.left, label %new, label %run
new:
  %output = call ptr @new_output(ptr %record, i64 %j)
  %failed = icmp eq ptr %output, null
  br i1 %failed, label %lost, label %keep
keep:
  %place = getelementptr ptr, ptr %all, i64 %j
  store ptr %output, ptr %place
  %item = sub i64 %j, %inputs
  %ignored = call i32 @PyTuple_SetItem(ptr %tuple, i64 %item, ptr %output)
  %j.next = add i64 %j, 1
  br label %next
run:
  %status = call i64 @attempt(ptr %record, ptr %all, i64 %arrays)
  %good = icmp eq i64 %status, 0
  br i1 %good, label %done, label %drop
done:
  ret ptr %tuple
drop:
  call void @Py_DecRef(ptr %tuple)
  br label %none
none:
  %none.p = getelementptr %Record, ptr %record, i64 0, i32 10
  %nothing = load ptr, ptr %none.p
  call void @Py_IncRef(ptr %nothing)
  ret ptr %nothing
lost:
  call void @Py_DecRef(ptr %tuple)
  br label %error
error:
  ret ptr null
}

; @make with some inputs in a dict, before others: self holds a %Keys. The keys must be the strings that it names, in their order;
; None where they are not. The dict keeps its values alive, and nothing here runs Python code. What is no dict goes to
; another @make as it is.
%Keys = type { ptr, ptr, ptr, i64, i64, ptr, ptr, [0 x %Key] }
; 0 self of @make, 1 dict type, 2 None, 3 inputs before the dict, 4 keys, 5 null or self of @make for what is no dict,
; 6 str type, 7 each key and the place of its input
%Key = type { ptr, i64 }

define ptr @unpack(ptr %self, ptr %arguments, i64 %given) {
entry:
  %all = alloca [65 x ptr]
  %position = alloca i64
  %key.p = alloca ptr
  %value.p = alloca ptr
  store i64 0, ptr %position
  %keys.p = call ptr @field(ptr %self, ptr @bytes_data)
  %plain.p = getelementptr %Keys, ptr %keys.p, i64 0, i32 3
  %plain = load i64, ptr %plain.p
  %expected = add i64 %plain, 1
  %complete = icmp sge i64 %given, %expected
  br i1 %complete, label %look, label %none
look:
  %dict.p = getelementptr ptr, ptr %arguments, i64 %plain
  %dict = load ptr, ptr %dict.p
  %type.p = call ptr @field(ptr %dict, ptr @type_of)
  %type = load ptr, ptr %type.p
  %dict.type.p = getelementptr %Keys, ptr %keys.p, i64 0, i32 1
  %dict.type = load ptr, ptr %dict.type.p
  %is.dict = icmp eq ptr %type, %dict.type
  br i1 %is.dict, label %measure, label %array
array:
  %other.p = getelementptr %Keys, ptr %keys.p, i64 0, i32 5
  %other = load ptr, ptr %other.p
  %no.other = icmp eq ptr %other, null
  br i1 %no.other, label %none, label %as.array
as.array:
  %other.result = call ptr @make(ptr %other, ptr %arguments, i64 %given)
  ret ptr %other.result
measure:
  %count.p = getelementptr %Keys, ptr %keys.p, i64 0, i32 4
  %count = load i64, ptr %count.p
  %size = call i64 @PyDict_Size(ptr %dict)
  %same.size = icmp eq i64 %size, %count
  br i1 %same.size, label %copy, label %none
copy:
  call void @copy(ptr %arguments, ptr %all, i64 %plain)
  br label %next
next:
  %j = phi i64 [ 0, %copy ], [ %j.next, %put ]
  %more = icmp slt i64 %j, %count
  br i1 %more, label %take, label %call
take:
  %found = call i32 @PyDict_Next(ptr %dict, ptr %position, ptr %key.p, ptr %value.p)
  %any = icmp ne i32 %found, 0
  br i1 %any, label %compare, label %none
compare:
  %key = load ptr, ptr %key.p
  %own.p = getelementptr %Keys, ptr %keys.p, i64 0, i32 7, i64 %j, i32 0
  %own = load ptr, ptr %own.p
  %same = icmp eq ptr %key, %own
  br i1 %same, label %put, label %other.object
other.object:
  %str.p = getelementptr %Keys, ptr %keys.p, i64 0, i32 6
  %str = load ptr, ptr %str.p
  %is.str = call i1 @has_type(ptr %key, ptr %str)
  br i1 %is.str, label %equal.text, label %none
equal.text:
  %difference = call i32 @PyUnicode_Compare(ptr %key, ptr %own)
  %equal = icmp eq i32 %difference, 0
  br i1 %equal, label %put, label %none
put:
  %value = load ptr, ptr %value.p
  %place.p = getelementptr %Keys, ptr %keys.p, i64 0, i32 7, i64 %j, i32 1
  %place = load i64, ptr %place.p
  %target = getelementptr ptr, ptr %all, i64 %place
  store ptr %value, ptr %target
  %j.next = add i64 %j, 1
  br label %next
call:
  %maker = load ptr, ptr %keys.p
  %unpacked = add i64 %plain, %count
  %further = sub i64 %given, %expected
  %further.p = getelementptr ptr, ptr %arguments, i64 %expected
  %rest.p = getelementptr ptr, ptr %all, i64 %unpacked
  call void @copy(ptr %further.p, ptr %rest.p, i64 %further)
  %inputs = add i64 %unpacked, %further
  %result = call ptr @make(ptr %maker, ptr %all, i64 %inputs)
  ret ptr %result
none:
  %none.p = getelementptr %Keys, ptr %keys.p, i64 0, i32 2
  %nothing = load ptr, ptr %none.p
  call void @Py_IncRef(ptr %nothing)
  ret ptr %nothing
}

; A METH_FASTCALL | METH_KEYWORDS function: inputs by place, then an option and a reference where it takes them; each of
; these, out= and parameters also as keywords. The option is the name of a frame, or one more input: of another maker.
; Parameters are the last inputs of a maker and have defaults; numbers that nobody has examined are left to Python.
%Front = type { i64, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, i64, [0 x %Parameter] }
; 0 inputs, 1 None, 2 type of native functions, 3 str type, 4 otherwise, 5 "out", 6 name of the option, 7 "reference",
; 8 dict of makers, 9 key in it, null if it is the name of a frame, 10 null or dict of such dicts by reference,
; 11 null or the type of objects that hold results, 12 "tree", 13 its tree, 14 "method", 15 its method, 16 "packed",
; 17 null or the key of the maker that takes the option as its last input, 18 the code of makers of one output, 19 that
; of @unpack, 20 parameters, 21 each of them
%Parameter = type { ptr, ptr, ptr }
; 0 its name, 1 its default, 2 null or an array of the numbers that were examined last

declare i32 @memcmp(ptr, ptr, i64)

define internal ptr @front_field(ptr %front, i32 %k) alwaysinline {
  %p = getelementptr ptr, ptr %front, i32 %k
  %found = load ptr, ptr %p
  ret ptr %found
}

define internal i1 @has_type(ptr %object, ptr %wanted) alwaysinline {
  %type.p = call ptr @field(ptr %object, ptr @type_of)
  %type = load ptr, ptr %type.p
  %same = icmp eq ptr %type, %wanted
  ret i1 %same
}

; A maker in a dict, or null; keys other than strings are not looked for.
define internal ptr @maker_in(ptr %front, ptr %table, ptr %key) alwaysinline {
entry:
  %str = call ptr @front_field(ptr %front, i32 3)
  %is.str = call i1 @has_type(ptr %key, ptr %str)
  br i1 %is.str, label %look, label %none
look:
  %found = call ptr @PyDict_GetItemWithError(ptr %table, ptr %key)
  %missing = icmp eq ptr %found, null
  br i1 %missing, label %none, label %examine
examine:
  %native = call ptr @front_field(ptr %front, i32 2)
  %is.native = call i1 @has_type(ptr %found, ptr %native)
  br i1 %is.native, label %yes, label %none
yes:
  ret ptr %found
none:
  ret ptr null
}

; Put the value of a keyword in the place of the parameter of that name, unless it is None; false if there is none.
define internal i1 @put_parameter(ptr %front, ptr %values, ptr %word, ptr %value) {
entry:
  %count.p = getelementptr %Front, ptr %front, i64 0, i32 20
  %count = load i64, ptr %count.p
  br label %next
next:
  %k = phi i64 [ 0, %entry ], [ %k.next, %look ]
  %left = icmp slt i64 %k, %count
  br i1 %left, label %look, label %no
look:
  %name.p = getelementptr %Front, ptr %front, i64 0, i32 21, i64 %k, i32 0
  %name = load ptr, ptr %name.p
  %same = icmp eq ptr %name, %word
  %k.next = add i64 %k, 1
  br i1 %same, label %put, label %next
put:
  %none = call ptr @front_field(ptr %front, i32 1)
  %is.none = icmp eq ptr %value, %none
  br i1 %is.none, label %yes, label %store
store:
  %target = getelementptr ptr, ptr %values, i64 %k
  store ptr %value, ptr %target
  br label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

; Are the parameters, which are the inputs of a maker from `first` on, defaults, or arrays that fit of examined numbers?
; With null for the record, nothing but defaults is known.
define internal i1 @are_known(ptr %front, ptr %record, ptr %values, i64 %first) {
entry:
  %count.p = getelementptr %Front, ptr %front, i64 0, i32 20
  %count = load i64, ptr %count.p
  br label %next
next:
  %k = phi i64 [ 0, %entry ], [ %k.next, %good ]
  %left = icmp slt i64 %k, %count
  br i1 %left, label %look, label %yes
look:
  %value.p = getelementptr ptr, ptr %values, i64 %k
  %value = load ptr, ptr %value.p
  %default.p = getelementptr %Front, ptr %front, i64 0, i32 21, i64 %k, i32 1
  %default = load ptr, ptr %default.p
  %examined.p = getelementptr %Front, ptr %front, i64 0, i32 21, i64 %k, i32 2
  %examined = load ptr, ptr %examined.p
  %is.default = icmp eq ptr %value, %default
  %any = icmp eq ptr %examined, null
  %free = or i1 %is.default, %any
  br i1 %free, label %good, label %other
other:
  %no.record = icmp eq ptr %record, null
  br i1 %no.record, label %no, label %shape
shape:
  %place = add i64 %first, %k
  %fits = call i1 @fits(ptr %record, ptr %value, i64 %place)
  br i1 %fits, label %compare, label %no
compare:
  %data.p = call ptr @field(ptr %value, ptr @data_of)
  %data = load ptr, ptr %data.p
  %known.p = call ptr @field(ptr %examined, ptr @data_of)
  %known = load ptr, ptr %known.p
  %bytes = call i64 @bytes_in(ptr %record, i64 %place, i64 1)
  %difference = call i32 @memcmp(ptr %data, ptr %known, i64 %bytes)
  %equal = icmp eq i32 %difference, 0
  br i1 %equal, label %good, label %no
good:
  %k.next = add i64 %k, 1
  br label %next
yes:
  ret i1 true
no:
  ret i1 false
}

define ptr @front(ptr %self, ptr %arguments, i64 %given, ptr %keywords) {
entry:
  %all = alloca [65 x ptr]
  %values = alloca [65 x ptr]
  %front = call ptr @field(ptr %self, ptr @bytes_data)
  %inputs = load i64, ptr %front
  %parameters.p = getelementptr %Front, ptr %front, i64 0, i32 20
  %parameters = load i64, ptr %parameters.p
  %own.key = call ptr @front_field(ptr %front, i32 9)
  %own.table = call ptr @front_field(ptr %front, i32 8)
  %references = call ptr @front_field(ptr %front, i32 10)
  %last.p = getelementptr ptr, ptr %arguments, i64 %given
  %beyond = sub i64 %given, %inputs
  %too.few = icmp slt i64 %beyond, 0
  %too.many = icmp sgt i64 %beyond, 2
  %odd = or i1 %too.few, %too.many
  br i1 %odd, label %otherwise, label %defaults
defaults:                                                   ; of parameters
  %d = phi i64 [ 0, %entry ], [ %d.next, %one.default ]
  %d.left = icmp slt i64 %d, %parameters
  br i1 %d.left, label %one.default, label %names
one.default:
  %default.p = getelementptr %Front, ptr %front, i64 0, i32 21, i64 %d, i32 1
  %default.value = load ptr, ptr %default.p
  %default.to = getelementptr ptr, ptr %values, i64 %d
  store ptr %default.value, ptr %default.to
  %d.next = add i64 %d, 1
  br label %defaults
names:                                                      ; of a frame and a reference by place
  %frame.p = getelementptr ptr, ptr %arguments, i64 %inputs
  %has.frame = icmp sge i64 %beyond, 1
  %has.reference = icmp eq i64 %beyond, 2
  br i1 %has.frame, label %by.place, label %count
by.place:
  %place.frame = load ptr, ptr %frame.p
  br i1 %has.reference, label %both, label %count
both:
  %reference.p = getelementptr ptr, ptr %frame.p, i64 1
  %place.reference = load ptr, ptr %reference.p
  br label %count
count:
  %frame.0 = phi ptr [ null, %names ], [ %place.frame, %by.place ], [ %place.frame, %both ]
  %reference.0 = phi ptr [ null, %names ], [ null, %by.place ], [ %place.reference, %both ]
  %no.keywords = icmp eq ptr %keywords, null
  br i1 %no.keywords, label %table, label %measure
measure:
  %many = call i64 @PyTuple_Size(ptr %keywords)
  br label %keyword
keyword:
  %w = phi i64 [ 0, %measure ], [ %w.next, %understood ]
  %out.1 = phi ptr [ null, %measure ], [ %out.2, %understood ]
  %frame.1 = phi ptr [ %frame.0, %measure ], [ %frame.2, %understood ]
  %reference.1 = phi ptr [ %reference.0, %measure ], [ %reference.2, %understood ]
  %w.left = icmp slt i64 %w, %many
  br i1 %w.left, label %which, label %table
which:
  %word = call ptr @PyTuple_GetItem(ptr %keywords, i64 %w)
  %value.p = getelementptr ptr, ptr %last.p, i64 %w
  %value = load ptr, ptr %value.p
  %out.word = call ptr @front_field(ptr %front, i32 5)
  %is.out = icmp eq ptr %word, %out.word
  br i1 %is.out, label %understood, label %is.frame
is.frame:
  %frame.word = call ptr @front_field(ptr %front, i32 6)
  %is.frame.word = icmp eq ptr %word, %frame.word
  %no.frame = icmp eq ptr %frame.1, null
  %as.frame = and i1 %is.frame.word, %no.frame
  br i1 %as.frame, label %understood, label %is.reference
is.reference:
  %reference.word = call ptr @front_field(ptr %front, i32 7)
  %is.reference.word = icmp eq ptr %word, %reference.word
  %no.reference = icmp eq ptr %reference.1, null
  %as.reference = and i1 %is.reference.word, %no.reference
  br i1 %as.reference, label %understood, label %is.parameter
is.parameter:
  %as.parameter = call i1 @put_parameter(ptr %front, ptr %values, ptr %word, ptr %value)
  br i1 %as.parameter, label %understood, label %otherwise
understood:
  %out.2 = phi ptr [ %value, %which ], [ %out.1, %is.frame ], [ %out.1, %is.reference ], [ %out.1, %is.parameter ]
  %frame.2 = phi ptr [ %frame.1, %which ], [ %value, %is.frame ], [ %frame.1, %is.reference ], [ %frame.1, %is.parameter ]
  %reference.2 = phi ptr [ %reference.1, %which ], [ %reference.1, %is.frame ], [ %value, %is.reference ], [ %reference.1, %is.parameter ]
  %w.next = add i64 %w, 1
  br label %keyword
table:
  %out = phi ptr [ null, %count ], [ %out.1, %keyword ]
  %frame = phi ptr [ %frame.0, %count ], [ %frame.1, %keyword ]
  %reference = phi ptr [ %reference.0, %count ], [ %reference.1, %keyword ]
  %new = icmp eq ptr %out, null
  %default = icmp eq ptr %reference, null
  br i1 %default, label %key, label %by.reference
by.reference:
  %no.references = icmp eq ptr %references, null
  br i1 %no.references, label %otherwise, label %known.reference
known.reference:
  %str = call ptr @front_field(ptr %front, i32 3)
  %reference.is.str = call i1 @has_type(ptr %reference, ptr %str)
  br i1 %reference.is.str, label %find.reference, label %otherwise
find.reference:
  %its.table = call ptr @PyDict_GetItemWithError(ptr %references, ptr %reference)
  %no.table = icmp eq ptr %its.table, null
  br i1 %no.table, label %otherwise, label %key
key:
  %makers = phi ptr [ %own.table, %table ], [ %its.table, %find.reference ]
  %takes.frame = icmp eq ptr %own.key, null
  %plain.key = select i1 %takes.frame, ptr %frame, ptr %own.key
  %given.frame = icmp ne ptr %frame, null
  %agree = icmp eq i1 %takes.frame, %given.frame
  br i1 %agree, label %find, label %longer
longer:                                                     ; the option is one more input, of results in new arrays
  %longer.key = call ptr @front_field(ptr %front, i32 17)
  %has.longer = icmp ne ptr %longer.key, null
  %simple = and i1 %new, %default
  %is.longer = and i1 %simple, %has.longer
  %longer.inputs = add i64 %inputs, 1
  br i1 %is.longer, label %find, label %otherwise
find:
  %the.key = phi ptr [ %plain.key, %key ], [ %longer.key, %longer ]
  %first = phi i64 [ %inputs, %key ], [ %longer.inputs, %longer ]
  %function = call ptr @maker_in(ptr %front, ptr %makers, ptr %the.key)
  %no.maker = icmp eq ptr %function, null
  br i1 %no.maker, label %otherwise, label %gather
gather:
  %maker = call ptr @PyCFunction_GetSelf(ptr %function)
  %code = call ptr @PyCFunction_GetFunction(ptr %function)
  %record = call ptr @field(ptr %maker, ptr @bytes_data)
  call void @copy(ptr %arguments, ptr %all, i64 %inputs)
  %option.p = getelementptr ptr, ptr %all, i64 %inputs
  store ptr %frame, ptr %option.p                           ; overwritten where it is no input
  %rest.p = getelementptr ptr, ptr %all, i64 %first
  call void @copy(ptr %values, ptr %rest.p, i64 %parameters)
  %total = add i64 %first, %parameters
  %unpack.address = call ptr @front_field(ptr %front, i32 19)
  %is.unpack = icmp eq ptr %code, %unpack.address
  %its.record = select i1 %is.unpack, ptr null, ptr %record
  %known = call i1 @are_known(ptr %front, ptr %its.record, ptr %values, i64 %first)
  br i1 %known, label %run, label %otherwise
run:
  %holder = call ptr @front_field(ptr %front, i32 11)
  %no.holder = icmp eq ptr %holder, null
  br i1 %new, label %array.only, label %fill.only
array.only:                                                 ; where another object is asked for, Python makes it
  br i1 %no.holder, label %make, label %otherwise
make:
  %made = call ptr %code(ptr %maker, ptr %all, i64 %total)
  %none = call ptr @front_field(ptr %front, i32 1)
  %complains = icmp eq ptr %made, %none
  br i1 %complains, label %forget, label %done
forget:
  call void @Py_DecRef(ptr %made)
  br label %otherwise
done:
  ret ptr %made
fill.only:
  %one.address = call ptr @front_field(ptr %front, i32 18)
  %has.one = icmp eq ptr %code, %one.address
  br i1 %has.one, label %result, label %otherwise
result:
  br i1 %no.holder, label %fill, label %held
held:
  %is.holder = call i1 @has_type(ptr %out, ptr %holder)
  br i1 %is.holder, label %tree, label %otherwise
tree:                                                       ; a factor: its packed rows, if it is of this tree
  %fields = call ptr @PyObject_GenericGetDict(ptr %out, ptr null)
  %no.fields = icmp eq ptr %fields, null
  br i1 %no.fields, label %lost, label %look
lost:
  call void @PyErr_Clear()
  br label %otherwise
look:
  call void @Py_DecRef(ptr %fields)                         ; the factor keeps it
  %tree.word = call ptr @front_field(ptr %front, i32 12)
  %tree.wanted = call ptr @front_field(ptr %front, i32 13)
  %its.tree = call ptr @PyDict_GetItemWithError(ptr %fields, ptr %tree.word)
  %same.tree = icmp eq ptr %its.tree, %tree.wanted
  %method.word = call ptr @front_field(ptr %front, i32 14)
  %method.wanted = call ptr @front_field(ptr %front, i32 15)
  %its.method = call ptr @PyDict_GetItemWithError(ptr %fields, ptr %method.word)
  %same.method = icmp eq ptr %its.method, %method.wanted
  %packed.word = call ptr @front_field(ptr %front, i32 16)
  %rows = call ptr @PyDict_GetItemWithError(ptr %fields, ptr %packed.word)
  %has.rows = icmp ne ptr %rows, null
  %same.both = and i1 %same.tree, %same.method
  %usable = and i1 %same.both, %has.rows
  br i1 %usable, label %fill, label %otherwise
fill:
  %array = phi ptr [ %out, %result ], [ %rows, %look ]
  %place = getelementptr ptr, ptr %all, i64 %total
  store ptr %array, ptr %place
  %arrays = add i64 %total, 1
  %status = call i64 @attempt(ptr %record, ptr %all, i64 %arrays)
  %good = icmp eq i64 %status, 0
  br i1 %good, label %filled, label %otherwise
filled:
  call void @Py_IncRef(ptr %out)
  ret ptr %out
otherwise:
  %other = call ptr @front_field(ptr %front, i32 4)
  %answer = call ptr @PyObject_Vectorcall(ptr %other, ptr %arguments, i64 %given, ptr %keywords)
  ret ptr %answer
}

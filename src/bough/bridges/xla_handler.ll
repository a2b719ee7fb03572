; An XLA FFI handler: XLA_FFI_Error *xla_handler(XLA_FFI_CallFrame *), C API 0.1 and later (xla/ffi/api/c_api.h).
;
; CallFrame: 0 size, 8 extension, 16 api, 24 ctx, 32 stage, 40 args, 80 rets, ...
; Args and Rets: 0 size, 8 extension, 16 count, 24 types, 32 pointers to buffers
; Buffer: 0 size, 8 extension, 16 dtype, 24 data, 32 rank, 40 dims
; Extension: 0 size, 8 type (1 = metadata), 16 next, 24 metadata: 8 version (16 major, 20 minor), 32 traits
; Api: 16 version, as in the metadata. What is used here has not changed since 0.1, so we answer with XLA's own version.

define ptr @xla_handler(ptr %frame) {
entry:
  %extension.at = getelementptr i8, ptr %frame, i64 8
  %extension = load ptr, ptr %extension.at
  %plain = icmp eq ptr %extension, null
  br i1 %plain, label %run, label %extended

extended:
  %type.at = getelementptr i8, ptr %extension, i64 8
  %type = load i32, ptr %type.at
  %asked = icmp eq i32 %type, 1
  br i1 %asked, label %describe, label %run

describe:
  %metadata.at = getelementptr i8, ptr %extension, i64 24
  %metadata = load ptr, ptr %metadata.at
  %api.at = getelementptr i8, ptr %frame, i64 16
  %api = load ptr, ptr %api.at
  %version.at = getelementptr i8, ptr %api, i64 32
  %version = load i64, ptr %version.at, align 4
  %told = getelementptr i8, ptr %metadata, i64 24
  store i64 %version, ptr %told, align 4
  %traits = getelementptr i8, ptr %metadata, i64 32
  store i32 0, ptr %traits
  ret ptr null

run:
  %arrays = alloca ptr, i64 @ARRAYS@
  %args.at = getelementptr i8, ptr %frame, i64 72
  %args = load ptr, ptr %args.at
  %rets.at = getelementptr i8, ptr %frame, i64 112
  %rets = load ptr, ptr %rets.at
  br label %input

input:
  %i = phi i64 [ 0, %run ], [ %i.next, %input ]
  %buffer.at = getelementptr ptr, ptr %args, i64 %i
  %buffer = load ptr, ptr %buffer.at
  %data.at = getelementptr i8, ptr %buffer, i64 24
  %data = load ptr, ptr %data.at
  %slot = getelementptr ptr, ptr %arrays, i64 %i
  store ptr %data, ptr %slot
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, @INPUTS@
  br i1 %more, label %input, label %outputs

outputs:
  br label %output

output:
  %k = phi i64 [ 0, %outputs ], [ %k.next, %output ]
  %result.at = getelementptr ptr, ptr %rets, i64 %k
  %result = load ptr, ptr %result.at
  %to.at = getelementptr i8, ptr %result, i64 24
  %to = load ptr, ptr %to.at
  %place = add i64 %k, @INPUTS@
  %to.slot = getelementptr ptr, ptr %arrays, i64 %place
  store ptr %to, ptr %to.slot
  %k.next = add i64 %k, 1
  %k.more = icmp slt i64 %k.next, @OUTPUTS@
  br i1 %k.more, label %output, label %count

count:
  %first = load ptr, ptr %args
  %rank.at = getelementptr i8, ptr %first, i64 32
  %rank = load i64, ptr %rank.at
  %leading = sub i64 %rank, @RANK@
  %dims.at = getelementptr i8, ptr %first, i64 40
  %dims = load ptr, ptr %dims.at
  br label %axis

axis:
  %a = phi i64 [ 0, %count ], [ %a.next, %multiply ]
  %rows = phi i64 [ 1, %count ], [ %product, %multiply ]
  %left = icmp slt i64 %a, %leading
  br i1 %left, label %multiply, label %go

multiply:
  %dim.at = getelementptr i64, ptr %dims, i64 %a
  %dim = load i64, ptr %dim.at
  %product = mul i64 %rows, %dim
  %a.next = add i64 %a, 1
  br label %axis

go:
  %many = icmp sge i64 %rows, @MANY@
  br i1 %many, label %share, label %few

share:
  %team = inttoptr i64 @TEAM@ to ptr
  %left.over = call i64 %team(ptr %arrays, i64 %rows)
  %finished = icmp eq i64 %left.over, 0
  br i1 %finished, label %done, label %launch

few:
  %any = icmp sgt i64 %rows, 0
  br i1 %any, label %launch, label %done

launch:
  %code = inttoptr i64 @ENTRY@ to ptr
  %status = call i64 %code(ptr %arrays, i64 %rows, ptr null)
  br label %done

done:
  ret ptr null
}

;; The action `create-shipment`: a tracking number of eight random digits.
;;
;; Random bytes come from the WASI function random_get, as in modules of compilers that target
;; wasm32-wasip1.
(module
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))

  (memory (export "memory") 1)
  (global $next (mut i32) (i32.const 1024))

  (data (i32.const 0) "0123456789abcdef")
  (data (i32.const 16) "{\"tracking\":\"TRK-00000000\"}")

  ;; Where the input goes: memory from 1024 on. It grows with a large input; 0 if it cannot.
  (func (export "alloc") (param $size i32) (result i32)
    (local $at i32)
    (local $missing i32)
    (local.set $at (global.get $next))
    (global.set $next (i32.add (local.get $at) (local.get $size)))
    (local.set $missing
      (i32.sub
        (i32.shr_u (i32.add (global.get $next) (i32.const 65535)) (i32.const 16))
        (memory.size)))
    (if (i32.gt_s (local.get $missing) (i32.const 0))
      (then
        (if (i32.eq (memory.grow (local.get $missing)) (i32.const -1))
          (then (return (i32.const 0))))))
    (local.get $at))

  (func (export "dealloc") (param $at i32) (param $size i32))

  (func (export "handle") (param $at i32) (param $length i32) (result i64)
    (local $place i32)
    ;; Eight random bytes at 64 choose the digits at 33.
    (if (call $random (i32.const 64) (i32.const 8))
      (then (return (i64.const -3))))
    (loop $digits
      (i32.store8 (i32.add (i32.const 33) (local.get $place))
        (i32.load8_u
          (i32.and
            (i32.load8_u (i32.add (i32.const 64) (local.get $place)))
            (i32.const 15))))
      (local.set $place (i32.add (local.get $place) (i32.const 1)))
      (br_if $digits (i32.lt_u (local.get $place) (i32.const 8))))
    (i64.const 0x10_0000_001b))) ;; 27 bytes at 16

;; The action `charge-payment`: numbers its charges, ch_00001 and so on.
;;
;; The number of the last charge is a variable of the namespace, which kv_get and kv_set of the
;; module "flo" read and write; it outlives the instance, of which each call has a fresh one.
(module
  (import "flo" "kv_get" (func $get (param i32 i32 i32 i32) (result i32)))
  (import "flo" "kv_set" (func $set (param i32 i32 i32 i32) (result i32)))

  (memory (export "memory") 1)
  (global $next (mut i32) (i32.const 1024))

  (data (i32.const 0) "charges")
  (data (i32.const 16) "{\"charge_id\":\"ch_00000\"}")

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

  ;; Adds one to the five digits at 33, from the last to the first.
  (func $count
    (local $place i32)
    (local.set $place (i32.const 37))
    (loop $digits
      (if (i32.lt_u (i32.load8_u (local.get $place)) (i32.const 57))
        (then
          (i32.store8 (local.get $place)
            (i32.add (i32.load8_u (local.get $place)) (i32.const 1)))
          (return)))
      (i32.store8 (local.get $place) (i32.const 48))
      (local.set $place (i32.sub (local.get $place) (i32.const 1)))
      (br_if $digits (i32.ge_u (local.get $place) (i32.const 33)))))

  (func (export "handle") (param $at i32) (param $length i32) (result i64)
    (local $code i32)
    ;; The digits of the last charge replace the zeros; -1 says that there was none.
    (local.set $code
      (call $get (i32.const 0) (i32.const 7) (i32.const 33) (i32.const 5)))
    (if (i32.lt_s (local.get $code) (i32.const -1))
      (then (return (i64.const -3))))
    (call $count)
    (if (i32.ne
          (call $set (i32.const 0) (i32.const 7) (i32.const 33) (i32.const 5))
          (i32.const 0))
      (then (return (i64.const -3))))
    (i64.const 0x10_0000_0018))) ;; 24 bytes at 16

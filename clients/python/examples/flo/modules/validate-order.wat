;; The action `validate-order`: an order needs an "order_id".
;;
;; An action is called as handle(pointer, length) with its JSON input, and returns the place and the
;; length of its JSON output: (pointer << 32) | length. A negative number is a failure; -1 says that
;; the input is not valid.
(module
  (import "flo" "log" (func $log (param $level i32) (param $at i32) (param $length i32)))

  (memory (export "memory") 1)
  (global $next (mut i32) (i32.const 1024))

  (data (i32.const 0) "\"order_id\"")
  (data (i32.const 16) "{\"valid\":true}")
  (data (i32.const 48) "the order has no order_id")

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

  ;; Each call has a fresh instance, so nothing is ever freed.
  (func (export "dealloc") (param $at i32) (param $size i32))

  ;; Whether the ten bytes at $at are "order_id" with its quotes.
  (func $is_name (param $at i32) (result i32)
    (local $place i32)
    (loop $bytes
      (if (i32.ne
            (i32.load8_u (i32.add (local.get $at) (local.get $place)))
            (i32.load8_u (local.get $place)))
        (then (return (i32.const 0))))
      (local.set $place (i32.add (local.get $place) (i32.const 1)))
      (br_if $bytes (i32.lt_u (local.get $place) (i32.const 10))))
    (i32.const 1))

  (func (export "handle") (param $at i32) (param $length i32) (result i64)
    (local $last i32)
    (local.set $last (i32.sub (i32.add (local.get $at) (local.get $length)) (i32.const 10)))
    (block $absent
      (loop $places
        (br_if $absent (i32.gt_s (local.get $at) (local.get $last)))
        (if (call $is_name (local.get $at))
          (then (return (i64.const 0x10_0000_000e)))) ;; 14 bytes at 16
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $places)))
    (call $log (i32.const 2) (i32.const 48) (i32.const 25))
    (i64.const -1)))

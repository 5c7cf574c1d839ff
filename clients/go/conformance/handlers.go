package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"interlock.internal/interlock"
)

// scripted is a handler that does what scripts say.
type scripted struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Detached handlers work without the entity.
	Detached bool     `json:"detached"`
	Scripts  [][]step `json:"scripts"`

	program    *program
	member     *interlock.Member
	memberName string
	quiet      bool
	called     atomic.Int64
}

// step is one member besides `reason` and `outcome`.
type step map[string]json.RawMessage

func (s step) text(name string) string {
	var text string
	_ = json.Unmarshal(s[name], &text) // absent is empty
	return text
}

// request is what steps send.
type request struct {
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`
	Key     string          `json:"key"`
}

func (h *scripted) register(member *interlock.Member) error {
	var options []interlock.HandlerOption
	if h.Detached {
		options = append(options, interlock.Detached())
	}
	switch h.Kind {
	case "processor":
		member.Processor(h.Name, func(ctx context.Context, call *interlock.Call) (any, error) {
			return h.calculate(ctx, call)
		}, options...)
	case "criterion":
		member.Criterion(h.Name, func(ctx context.Context, call *interlock.Call) (interlock.Verdict, error) {
			result, err := h.calculate(ctx, call)
			verdict, _ := result.(interlock.Verdict)
			return verdict, err
		}, options...)
	case "schedule":
		member.Schedule(h.Name, func(ctx context.Context, call *interlock.Call) (interlock.Schedule, error) {
			result, err := h.calculate(ctx, call)
			schedule, _ := result.(interlock.Schedule)
			return schedule, err
		}, options...)
	case "action":
		member.Action(h.Name, h.act)
	default:
		return fmt.Errorf("%q is not a kind of handler", h.Kind)
	}
	return nil
}

func (h *scripted) calculate(ctx context.Context, call *interlock.Call) (any, error) {
	called := object{
		"entityId": call.EntityID, "parameters": orNull(call.Parameters), "workflow": call.Workflow,
		"transition": call.Transition.Name, "transactionId": orNull(call.TransactionID), "dispatchKey": orNull(call.DispatchKey),
		"caller": object{"kind": call.Caller.Kind, "id": call.Caller.ID, "roles": call.Caller.Roles},
	}
	one := &running{handler: h, tx: call.Tx, outside: h.member.Session, warn: call.Warn, entityID: call.EntityID}
	if call.Entity != nil {
		one.given = call.Data
		called["state"], called["data"] = call.State, call.Data
	}
	return h.follow(ctx, one, called)
}

func (h *scripted) act(ctx context.Context, task *interlock.Task) (any, error) {
	one := &running{handler: h, tx: task.Tx, outside: task.Outside, warn: task.Warn, given: task.Input}
	return h.follow(ctx, one, object{
		"data": task.Input, "attempt": task.Attempt, "runId": orNull(task.RunID), "step": orNull(task.Step),
		"idempotencyKey": task.IdempotencyKey,
	})
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func (h *scripted) follow(ctx context.Context, one *running, called object) (result any, err error) {
	index := min(h.called.Add(1), int64(len(h.Scripts))) - 1
	if h.quiet {
		return one.follow(ctx, h.Scripts[index])
	}
	one.number = h.program.nextCall()
	line := object{"event": "called", "call": one.number, "member": h.memberName, "kind": h.Kind, "name": h.Name}
	maps.Copy(line, called)
	h.program.say(line)
	how := "raised"
	defer func() { h.program.say(object{"event": "left", "call": one.number, "how": how}) }()
	result, err = one.follow(ctx, h.Scripts[index])
	var rejection *interlock.Rejection
	switch {
	case err == nil:
		how = "returned"
	case ctx.Err() != nil:
		how = "cancelled"
	case errors.As(err, &rejection) && rejection.Retryable:
		how = "retry"
	case errors.As(err, &rejection):
		how = "rejected"
	}
	return result, err
}

// running is one call of a handler.
type running struct {
	handler  *scripted
	number   int64
	tx       interlock.Session
	outside  interlock.Session
	warn     func(string, ...any)
	given    json.RawMessage
	entityID string
}

// follow executes the steps until one of them ends the call.
func (r *running) follow(ctx context.Context, script []step) (any, error) {
	for _, one := range script {
		result, ends, err := r.execute(ctx, one)
		if ends || err != nil {
			return result, err
		}
	}
	return nil, nil
}

func (r *running) execute(ctx context.Context, one step) (result any, ends bool, err error) {
	for name, value := range one {
		switch name {
		case "return":
			return value, true, nil
		case "merge":
			result, err := merged(r.given, value)
			return result, true, err
		case "keep":
			return nil, true, nil
		case "matches":
			return interlock.Verdict{Holds: string(value) == "true", Reason: one.text("reason")}, true, nil
		case "schedule":
			result, err := schedule(value)
			return result, true, err
		case "output":
			if outcome := one.text("outcome"); outcome != "" {
				return interlock.Outcome{Name: outcome, Output: value}, true, nil
			}
			return value, true, nil
		case "reject":
			return nil, true, interlock.Reject("%s", one.text(name))
		case "retry":
			return nil, true, interlock.Retry("%s", one.text(name))
		case "raise":
			panic(one.text(name))
		case "warn":
			r.warn("%s", one.text(name))
		case "wait":
			select {
			case <-r.handler.program.gate(one.text(name)).opened:
			case <-ctx.Done():
				if reason := one.text("reason"); reason != "" {
					return nil, true, errors.New(reason)
				}
				return nil, true, ctx.Err()
			}
		case "call":
			return nil, false, r.ask(ctx, r.tx, value)
		case "outside":
			return nil, false, r.ask(ctx, r.outside, value)
		case "collect":
			return nil, false, r.collect(ctx, value)
		}
	}
	return nil, false, nil
}

func (r *running) read(value json.RawMessage) (request, error) {
	var read request
	err := json.Unmarshal(value, &read)
	read.Payload = bytes.ReplaceAll(read.Payload, []byte(`"$entityId"`), []byte(`"`+r.entityID+`"`))
	return read, err
}

func (r *running) ask(ctx context.Context, session interlock.Session, value json.RawMessage) error {
	wanted, err := r.read(value)
	if err != nil {
		return err
	}
	answer, err := ask(ctx, session, wanted.Type, wanted.Payload, wanted.Key)
	return r.sayAnswer(ctx, "ok", answer, err)
}

func (r *running) collect(ctx context.Context, value json.RawMessage) error {
	wanted, err := r.read(value)
	if err != nil {
		return err
	}
	items, err := collect(ctx, r.tx, wanted.Type, wanted.Payload)
	return r.sayAnswer(ctx, "items", items, err)
}

func (r *running) sayAnswer(ctx context.Context, name string, answer any, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	line := object{"event": "asked", "call": r.number}
	if err != nil {
		line["error"] = failure(err)
	} else {
		line[name] = answer
	}
	r.handler.program.say(line)
	return nil
}

// merged returns the document with members added or replaced.
func merged(document, members json.RawMessage) (map[string]json.RawMessage, error) {
	made := map[string]json.RawMessage{}
	if err := json.Unmarshal(document, &made); err != nil {
		return nil, err
	}
	return made, json.Unmarshal(members, &made)
}

func schedule(value json.RawMessage) (interlock.Schedule, error) {
	var read struct{ FireAt, FireAfterMs, ExpireAt, ExpireAfterMs int64 }
	if err := json.Unmarshal(value, &read); err != nil {
		return interlock.Schedule{}, err
	}
	made := interlock.Schedule{
		FireAfter:   time.Duration(read.FireAfterMs) * time.Millisecond,
		ExpireAfter: time.Duration(read.ExpireAfterMs) * time.Millisecond,
	}
	if read.FireAt != 0 {
		made.FireAt = time.UnixMilli(read.FireAt)
	}
	if read.ExpireAt != 0 {
		made.ExpireAt = time.UnixMilli(read.ExpireAt)
	}
	return made, nil
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"interlock.internal/interlock"
	"interlock.internal/interlock/api"
)

func (p *program) follow(c *command) error {
	session, ctx, err := p.session(c.On)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	items, err := followed(ctx, session, c.Type, c.Payload)
	if err != nil {
		cancel()
		return err
	}
	p.mu.Lock()
	p.feeds[c.As] = cancel
	p.mu.Unlock()
	go func() {
		defer cancel()
		for item, err := range items {
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				p.say(object{"event": "ended", "feed": c.As, "error": failure(err)})
				return
			}
			p.say(object{"event": "item", "feed": c.As, "item": item})
		}
		p.say(object{"event": "ended", "feed": c.As})
	}()
	return nil
}

func (p *program) unfollow(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	cancel := p.feeds[name]
	if cancel == nil {
		return fmt.Errorf("there is no feed %q", name)
	}
	delete(p.feeds, name)
	cancel()
	return nil
}

// followed returns the items of an endless answer, by the subscriptions that resume.
func followed(ctx context.Context, session interlock.Session, kind string, payload json.RawMessage) (iter.Seq2[object, error], error) {
	switch kind {
	case "EntityChangesSubscribeRequest":
		var wanted api.EntityChangesSubscribeRequest
		if err := json.Unmarshal(payload, &wanted); err != nil {
			return nil, err
		}
		return items(session.FollowChanges(ctx, interlock.Changes{
			Model: wanted.Model, States: wanted.States, After: wanted.FromSequence, WithData: given(wanted.IncludeData),
		}), change), nil
	case "EntitySearchSubscribeRequest":
		var wanted api.EntitySearchSubscribeRequest
		if err := json.Unmarshal(payload, &wanted); err != nil {
			return nil, err
		}
		return items(session.FollowSearch(ctx, interlock.Live{
			Model: wanted.Model, Condition: wanted.Condition, After: wanted.FromSequence, WithData: given(wanted.IncludeData),
		}), match), nil
	case "RunHistorySubscribeRequest":
		var wanted api.RunHistorySubscribeRequest
		if err := json.Unmarshal(payload, &wanted); err != nil {
			return nil, err
		}
		after := int64(0)
		if wanted.FromSequence != nil {
			after = *wanted.FromSequence
		}
		return items(session.FollowRun(ctx, wanted.RunID, after), runEvent), nil
	}
	return nil, fmt.Errorf("%s is not followed", kind)
}

func items[T any](from iter.Seq2[*T, error], item func(*T) object) iter.Seq2[object, error] {
	return func(yield func(object, error) bool) {
		for one, err := range from {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(item(one), nil) {
				return
			}
		}
	}
}

func given(value *bool) bool { return value != nil && *value }

func change(c *interlock.Change) object {
	return object{
		"sequence": c.Sequence, "entityId": c.EntityID, "changeType": c.ChangeType, "state": c.State, "data": c.Data,
	}
}

func match(m *interlock.Match) object {
	if m.Entity != nil {
		return object{"change": "matches", "entityId": m.Entity.ID, "state": m.Entity.State, "data": m.Entity.Data}
	}
	item := change(m.Change)
	item["change"] = m.Change.Change
	return item
}

func runEvent(e *interlock.RunEvent) object {
	return object{"sequence": e.Sequence, "eventType": e.EventType}
}

package interlock

import (
	"context"
	"errors"
	"iter"
	"math"
	"strconv"

	"interlock.internal/interlock/api"
)

// Change is a committed change of an entity.
type Change = api.EntityChangeEvent

// Changes chooses what [Session.FollowChanges] follows. The zero value stands for all changes
// of the tenant from now on.
type Changes struct {
	// Model is nil for all models.
	Model *Model
	// States limits it to changes that leave an entity in one of them.
	States []string
	// After is the sequence of the last change that was dealt with; 0 is before the first. Nil
	// stands for changes from now on.
	After *int64
	// WithData includes the documents.
	WithData bool
}

// FollowChanges follows changes in the order of their commits, each once. It has no end: after
// a lost connection it resumes after the last change, so none is missing and none is
// repeated. To resume after a restart of the program, keep the sequence of the last change.
//
// It is a separate call, so it may be read slowly. It ends with an error when the context
// ends, when the server refuses the request, or when the server cannot be reached at first.
func (s Session) FollowChanges(ctx context.Context, what Changes) iter.Seq2[*Change, error] {
	return func(yield func(*Change, error) bool) {
		request := &api.EntityChangesSubscribeRequest{
			Model: what.Model, States: what.States, FromSequence: what.After, IncludeData: &what.WithData,
		}
		if what.After == nil {
			newest, err := s.newest(ctx, "EntityChangesSubscribeRequest", map[string]any{"fromSequence": int64(math.MaxInt64)})
			if err != nil {
				yield(nil, err)
				return
			}
			request.FromSequence = &newest
		}
		followed(ctx, s.asker, func() (bool, error) {
			came := false
			for change, err := range s.EntityChangesSubscribe(ctx, request) {
				if err != nil {
					return came, err
				}
				came = true
				request.FromSequence = change.Sequence
				if !yield(change, nil) {
					return came, errStopped
				}
			}
			return came, nil
		}, func(err error) { yield(nil, err) })
	}
}

// Match is an event of a live search: an entity of the first result, or a change.
type Match struct {
	// Entity is one that matches, of the first result. It is nil for changes.
	Entity *Entity
	// Change is nil for an entity of the first result. Its Change says whether the entity
	// entered the result, changed within it, or left it; "complete" says that the first result
	// is complete as of its Sequence.
	Change *Change
}

// Live chooses what [Session.FollowSearch] follows.
type Live struct {
	Model     Model
	Condition api.Condition
	// After is the sequence of a change that was dealt with, for later changes only. Nil stands
	// for the whole result first.
	After *int64
	// WithData includes the documents of changes; those of the first result always are.
	WithData bool
}

// FollowSearch follows what satisfies a condition: first the entities that do, then a change
// that says that the result is complete, then the changes that make an entity enter or leave
// the result, or change it within. It has no end: a connection that is lost after the result
// was complete is resumed after the last change; one that is lost before is an error.
//
// It is a separate call, so it may be read slowly.
func (s Session) FollowSearch(ctx context.Context, what Live) iter.Seq2[*Match, error] {
	return func(yield func(*Match, error) bool) {
		request := &api.EntitySearchSubscribeRequest{
			Model: what.Model, Condition: what.Condition, FromSequence: what.After, IncludeData: &what.WithData,
		}
		begun := false
		followed(ctx, s.asker, func() (bool, error) {
			came := false
			for answer, err := range s.EntitySearchSubscribe(ctx, request) {
				if err != nil {
					if request.FromSequence == nil || !begun {
						err = final{err}
					}
					return came, err
				}
				came, begun = true, true
				match := &Match{Change: answer.EntityChangeEvent}
				if match.Change != nil {
					request.FromSequence = match.Change.Sequence
				} else {
					match.Entity = entityOf(&answer.EntityResponse.Payload)
				}
				if !yield(match, nil) {
					return came, errStopped
				}
			}
			if request.FromSequence == nil {
				return came, final{connectionLost("the live search ended before its first result was complete")}
			}
			return came, nil
		}, func(err error) { yield(nil, err) })
	}
}

// RunEvent is an event of the history of a run.
type RunEvent = api.RunHistoryEvent

// FollowRun follows the events of a run after the sequence, 0 for all, until the run ends.
// After a lost connection it resumes after the last event, so that each is yielded once.
//
// It is a separate call, so it may be read slowly.
func (s Session) FollowRun(ctx context.Context, runID string, after int64) iter.Seq2[*RunEvent, error] {
	return func(yield func(*RunEvent, error) bool) {
		request := &api.RunHistorySubscribeRequest{RunID: runID, FromSequence: &after}
		followed(ctx, s.asker, func() (bool, error) {
			came := false
			for event, err := range s.RunHistorySubscribe(ctx, request) {
				if err != nil {
					return came, err
				}
				if event.EventType == "" {
					continue
				}
				came = true
				request.FromSequence = event.Sequence
				if !yield(event, nil) {
					return came, errStopped
				}
			}
			// The answer ends with the run, and may end with the server.
			run, err := s.RunGet(ctx, &api.RunGetRequest{RunID: runID})
			if err != nil {
				return came, err
			}
			if finished[run.Run.Status] && *request.FromSequence >= run.Run.LastSequence {
				return came, errStopped
			}
			return came, nil
		}, func(err error) { yield(nil, err) })
	}
}

// finished are the states in which nothing of a run changes again.
var finished = map[string]bool{"completed": true, "failed": true, "cancelled": true, "timed_out": true}

// FollowRuns follows the events of all runs of a namespace after the position, nil for those
// from now on; of one definition, if it is named. It has no end, and resumes as
// [Session.FollowChanges] does.
func (s Session) FollowRuns(ctx context.Context, namespace, definition string, after *int64) iter.Seq2[*RunEvent, error] {
	return func(yield func(*RunEvent, error) bool) {
		request := &api.RunHistorySubscribeRequest{Namespace: namespace, Definition: definition, FromSequence: after}
		if after == nil {
			newest, err := s.newest(ctx, "RunHistorySubscribeRequest", map[string]any{"fromSequence": int64(math.MaxInt64)})
			if err != nil {
				yield(nil, err)
				return
			}
			request.FromSequence = &newest
		}
		followed(ctx, s.asker, func() (bool, error) {
			came := false
			for event, err := range s.RunHistorySubscribe(ctx, request) {
				if err != nil {
					return came, err
				}
				came = true
				request.FromSequence = event.Position
				if event.EventType != "" && !yield(event, nil) {
					return came, errStopped
				}
			}
			return came, nil
		}, func(err error) { yield(nil, err) })
	}
}

// final marks a failure after which nothing can be resumed.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// followed reads an endless answer as resumed does, but fails if the server cannot be reached at
// first: then its address may be wrong, and nothing was interrupted.
func followed(ctx context.Context, asker asker, read func() (bool, error), failed func(error)) {
	if err := asker.connect(ctx); err != nil {
		failed(err)
		return
	}
	resumed(ctx, asker, read, failed)
}

// resumed reads an endless answer again and again, until read fails for good. read returns
// whether anything came.
func resumed(ctx context.Context, asker asker, read func() (bool, error), failed func(error)) {
	delay := delayFirst
	for {
		came, err := read()
		if came {
			delay = delayFirst
		}
		var known *Error
		var isFinal final
		switch {
		case errors.Is(err, errStopped):
			return
		case ctx.Err() != nil:
			failed(context.Cause(ctx))
			return
		case errors.As(err, &isFinal):
			failed(isFinal.error)
			return
		case err == nil:
		case !errors.As(err, &known) || known.Code != CodeConnectionLost && known.Code != api.CodeStorageUnavailable:
			failed(err)
			return
		}
		if err := asker.pause(ctx, delay); err != nil {
			failed(err)
			return
		}
		delay = min(delayMax, 2*delay)
	}
}

// newest returns the newest position of a feed: the refusal of one that does not exist yet
// names it.
func (s Session) newest(ctx context.Context, eventType string, payload any) (int64, error) {
	for _, err := range (caller{s.asker}).Listen(ctx, eventType, payload) {
		var refused *Error
		if !errors.As(err, &refused) {
			if err != nil {
				return 0, err
			}
			break
		}
		if newest, isThere := refused.Properties["newest"]; isThere {
			return strconv.ParseInt(string(newest), 10, 64)
		}
		return 0, refused
	}
	return 0, &Error{Code: "SERVER_ERROR", Message: "the server does not report its newest sequence"}
}

// Search returns the entities of a model that satisfy a condition. Of the request only Model
// and Condition are required.
//
// If the connection is lost before the first entity, the search begins again. Later it
// resumes if the request has a PointInTime, because only then the rest is the rest of the
// same result; entities that were yielded are not repeated. Without one it fails with
// [ErrConnectionLost].
func (s Session) Search(ctx context.Context, request *api.EntitySearchRequest) iter.Seq2[*Entity, error] {
	return func(yield func(*Entity, error) bool) {
		seen := map[string]bool{}
		attempts := 0
		resumed(ctx, s.asker, func() (bool, error) {
			came := false
			attempts++
			for entity, err := range entities(s.EntitySearch(ctx, request)) {
				if err != nil {
					if len(seen) > 0 && request.PointInTime == "" || attempts >= searchAttempts {
						err = final{err}
					}
					return came, err
				}
				if seen[entity.ID] {
					continue
				}
				seen[entity.ID], came, attempts = true, true, 0
				if !yield(entity, nil) {
					return came, errStopped
				}
			}
			return came, errStopped
		}, func(err error) { yield(nil, err) })
	}
}

// searchAttempts is how often a search is sent without an entity in return.
const searchAttempts = 3

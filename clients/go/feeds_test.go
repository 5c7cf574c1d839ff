package interlock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"interlock.internal/interlock"
	"interlock.internal/interlock/api"
	"interlock.internal/interlock/internal/servertest"
)

// durable are the settings of a server that keeps its data over restarts.
func durable(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{"CYODA_STORAGE_BACKEND": "sqlite", "CYODA_SQLITE_PATH": t.TempDir() + "/data.db"}
}

// createEventually creates a parcel as soon as the server can be reached.
func createEventually(ctx context.Context, t *testing.T, session interlock.Session, sku string) {
	t.Helper()
	for {
		_, err := session.Create(ctx, parcel, map[string]any{"sku": sku, "weight": json.Number("1.5")})
		if err == nil {
			return
		}
		if !errors.Is(err, interlock.ErrConnectionLost) || ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

func TestAFeedOverARestartHasEveryChangeOnce(t *testing.T) {
	server, tenant := servertest.Start(t, durable(t)), servertest.Tenant(t)
	client := connect(t, server, tenant)
	makeParcels(t, client.Session, "")
	ctx := servertest.Context(t)
	const before, after = 5, 5
	for i := range before {
		createEventually(ctx, t, client.Session, fmt.Sprint(i))
	}
	seen := []string{}
	what := interlock.Changes{Model: &parcel, After: api.Ptr(int64(0)), WithData: true}
	last := int64(0)
	for change, err := range client.FollowChanges(ctx, what) {
		must(t, err)
		if *change.Sequence <= last {
			t.Errorf("%d came after %d", *change.Sequence, last)
		}
		last = *change.Sequence
		var document struct{ SKU string }
		must(t, json.Unmarshal(change.Data, &document))
		seen = append(seen, document.SKU)
		if len(seen) == before {
			server.Kill()
			server.Start()
			for i := range after {
				createEventually(ctx, t, client.Session, fmt.Sprint(before+i))
			}
		}
		if len(seen) == before+after {
			break
		}
	}
	if fmt.Sprint(seen) != "[0 1 2 3 4 5 6 7 8 9]" {
		t.Errorf("the feed was %q", seen)
	}
}

func TestALiveSearchHasTheResultAndThenWhatEntersAndLeaves(t *testing.T) {
	server, tenant := servertest.Start(t, nil), servertest.Tenant(t)
	client := connect(t, server, tenant)
	makeParcels(t, client.Session, "")
	ctx := servertest.Context(t)
	light := interlock.Live{Model: parcel, Condition: api.Condition{
		Type: api.ConditionTypeSimple, JSONPath: "$.weight",
		OperatorType: api.ConditionOperatorTypeLessThan, Value: interlock.JSON(1),
	}}
	first, err := client.Create(ctx, parcel, map[string]any{"weight": 0.5})
	must(t, err)
	_, err = client.Create(ctx, parcel, map[string]any{"weight": 5})
	must(t, err)
	var seen []string
	for match, err := range client.FollowSearch(ctx, light) {
		must(t, err)
		if match.Entity != nil {
			seen = append(seen, "matches")
			continue
		}
		seen = append(seen, string(match.Change.Change))
		switch match.Change.Change {
		case api.EntityChangeEventChangeComplete:
			_, err = client.Create(ctx, parcel, map[string]any{"weight": 0.25})
			must(t, err)
		case api.EntityChangeEventChangeEntered:
			_, err = client.Update(ctx, first.EntityID, map[string]any{"weight": 7}, "")
			must(t, err)
		}
		if match.Change.Change == api.EntityChangeEventChangeLeft {
			break
		}
	}
	if fmt.Sprint(seen) != "[matches complete entered left]" {
		t.Errorf("the search was %q", seen)
	}
}

func TestAFeedEndsWithItsContextAndWithARefusal(t *testing.T) {
	server, tenant := servertest.Start(t, nil), servertest.Tenant(t)
	client := connect(t, server, tenant)
	ctx, cancel := context.WithTimeout(servertest.Context(t), 50*time.Millisecond)
	defer cancel()
	var ended error
	for _, err := range client.FollowChanges(ctx, interlock.Changes{}) {
		ended = err
	}
	if !errors.Is(ended, context.DeadlineExceeded) {
		t.Errorf("it ended with %v", ended)
	}
	for _, err := range client.FollowChanges(servertest.Context(t), interlock.Changes{After: api.Ptr(int64(-1))}) {
		ended = err
	}
	if !errors.Is(ended, interlock.ErrInvalidRequest) {
		t.Errorf("it ended with %v", ended)
	}
}

func TestTheHistoryOfARunEndsWithTheRun(t *testing.T) {
	server, tenant := servertest.Start(t, nil), servertest.Tenant(t)
	member := join(t, server, tenant, func(m *interlock.Member) {
		m.Action("charge", func(context.Context, *interlock.Task) (any, error) { return nil, nil })
	})
	ctx := servertest.Context(t)
	_, err := member.ActionRegister(ctx, &api.ActionRegisterRequest{Name: "charge"})
	must(t, err)
	_, err = member.RunDefinitionCreate(ctx, &api.RunDefinitionCreateRequest{Document: json.RawMessage(`{
		"kind": "Workflow", "name": "orders", "version": "1.0.0", "start": {
			"run": "@actions/charge", "transitions": {"success": "flo.Completed", "failure": "flo.Failed"}}}`)})
	must(t, err)
	started, err := member.RunStart(ctx, &api.RunStartRequest{Definition: "orders", Input: interlock.JSON(map[string]any{})})
	must(t, err)
	last := int64(0)
	for event, err := range member.FollowRun(ctx, started.RunID, 0) {
		must(t, err)
		if *event.Sequence != last+1 {
			t.Errorf("event %d came after %d", *event.Sequence, last)
		}
		last = *event.Sequence
	}
	if last == 0 {
		t.Error("the history is empty")
	}
	for event, err := range member.FollowRun(ctx, started.RunID, last) {
		t.Errorf("after the end came %v, %v", event, err)
	}
}

func TestAFeedOfAServerThatIsNotThereFails(t *testing.T) {
	client, err := interlock.New("127.0.0.1:1", interlock.WithConnectTimeout(200*time.Millisecond))
	must(t, err)
	defer client.Close()
	ctx, zero := servertest.Context(t), api.Ptr(int64(0))
	for name, failure := range map[string]error{
		"changes":   firstFailure(client.FollowChanges(ctx, interlock.Changes{After: zero})),
		"a search":  firstFailure(client.FollowSearch(ctx, interlock.Live{Model: parcel, After: zero})),
		"a run":     firstFailure(client.FollowRun(ctx, "run-1", 0)),
		"all runs":  firstFailure(client.FollowRuns(ctx, "", "", zero)),
		"from now":  firstFailure(client.FollowChanges(ctx, interlock.Changes{})),
		"runs, now": firstFailure(client.FollowRuns(ctx, "", "", nil)),
	} {
		if !errors.Is(failure, interlock.ErrConnectionLost) || !errors.Is(failure, interlock.ErrRetryable) {
			t.Errorf("%s: the failure is %v", name, failure)
		}
	}
}

func firstFailure[T any](feed iter.Seq2[T, error]) error {
	for _, err := range feed {
		return err
	}
	return nil
}

package interlock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"interlock.internal/interlock"
	"interlock.internal/interlock/api"
	"interlock.internal/interlock/internal/servertest"
)

// flow is a workflow whose first transition, NEW to DONE, is as given.
func flow(transition string) string {
	return `{"version":"1","name":"parcels","initialState":"NEW","states":{
		"NEW":{"transitions":[{"name":"process","next":"DONE",` + transition + `}]},"DONE":{}}}`
}

func processor(name string, more ...string) string {
	config := append([]string{`"calculationNodesTags":"go"`}, more...)
	return flow(`"manual":false,"processors":[{"name":"` + name + `","type":"externalized","executionMode":"SYNC",
		"config":{` + strings.Join(config, ",") + `}}]`)
}

func criterion(name string) string {
	return flow(`"manual":false,"criterion":{"type":"function","function":{"name":"` + name + `",
		"config":{"calculationNodesTags":"go"}}}`)
}

// endWithTest shuts a member down after a test, without waiting for its calls.
func endWithTest(t *testing.T, member *interlock.Member) {
	t.Helper()
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = member.Shutdown(ended)
	})
}

// join makes a member, lets prepare register handlers, and joins.
func join(t *testing.T, server *servertest.Server, tenant interlock.Option, prepare func(*interlock.Member), options ...interlock.Option) *interlock.Member {
	t.Helper()
	member, err := interlock.NewMember(server.Target, append(options, tenant, interlock.WithTags("go"))...)
	must(t, err)
	prepare(member)
	must(t, member.Join(servertest.Context(t)))
	endWithTest(t, member)
	return member
}

func create(t *testing.T, session interlock.Session) (*interlock.Entity, *interlock.Written, error) {
	t.Helper()
	ctx := servertest.Context(t)
	written, err := session.Create(ctx, parcel, json.RawMessage(`{"sku":"A-1","weight":1.50}`))
	if err != nil {
		return nil, nil, err
	}
	entity, err := session.Get(ctx, written.EntityID)
	must(t, err)
	return entity, written, nil
}

func TestAProcessorChangesTheDocumentAndWarns(t *testing.T) {
	server, tenant := servertest.Start(t, nil), servertest.Tenant(t)
	member := join(t, server, tenant, func(m *interlock.Member) {
		m.Processor("price", func(_ context.Context, call *interlock.Call) (any, error) {
			document := call.Document()
			document["price"] = json.Number("4.50")
			document["note"] = call.Workflow + " " + call.Transition.Name + " " + call.State + " " + call.Parameters
			call.Warn("priced %s", call.EntityID)
			return document, nil
		})
	})
	makeParcels(t, member.Session, processor("price", `"context":"eu"`))
	entity, written, err := create(t, member.Session)
	must(t, err)
	document := entity.Document()
	if entity.State != "DONE" || document["price"] != json.Number("4.50") || document["weight"] != json.Number("1.50") {
		t.Errorf("the entity is %s in %s", entity.Data, entity.State)
	}
	if document["note"] != "parcels process NEW eu" {
		t.Errorf("the call was about %q", document["note"])
	}
	if !strings.Contains(fmt.Sprint(written.Warnings), "priced "+entity.ID) {
		t.Errorf("the warnings are %q", written.Warnings)
	}
}

func TestARejectionAPanicAndAnErrorFailTheTransition(t *testing.T) {
	server := servertest.Start(t, nil)
	for name, one := range map[string]struct {
		handle    interlock.ProcessorFunc
		text      string
		retryable bool
	}{
		"rejection":                  {func(context.Context, *interlock.Call) (any, error) { return nil, interlock.Reject("too heavy") }, "too heavy", false},
		"error":                      {func(context.Context, *interlock.Call) (any, error) { return nil, errors.New("disk full") }, "disk full", false},
		"panic":                      {func(context.Context, *interlock.Call) (any, error) { panic("oh no") }, "panic: oh no", false},
		"goexit":                     {func(context.Context, *interlock.Call) (any, error) { runtime.Goexit(); return nil, nil }, "ended its goroutine", false},
		"not UTF-8":                  {func(context.Context, *interlock.Call) (any, error) { return json.RawMessage("{\"sku\":\"\xff\"}"), nil }, "not UTF-8", false},
		"odd text":                   {func(context.Context, *interlock.Call) (any, error) { return nil, errors.New("a\xffb") }, "a\ufffdb", false},
		"panics while it is encoded": {func(context.Context, *interlock.Call) (any, error) { return panicking{}, nil }, "panic: no JSON", false},
		"no entity":                  {func(context.Context, *interlock.Call) (any, error) { return []int{1}, nil }, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			tenant := servertest.Tenant(t)
			member := join(t, server, tenant, func(m *interlock.Member) {
				m.Processor("price", func(ctx context.Context, call *interlock.Call) (any, error) {
					if calls++; calls > 1 {
						return nil, nil
					}
					return one.handle(ctx, call)
				})
			})
			makeParcels(t, member.Session, processor("price"))
			_, _, err := create(t, member.Session)
			var failure *interlock.Error
			if !errors.As(err, &failure) || failure.Code != api.CodeWorkflowFailed || !strings.Contains(failure.Message, one.text) {
				t.Fatalf("the failure is %v", err)
			}
			// The member serves the next call.
			if _, _, err := create(t, member.Session); err != nil {
				t.Error(err)
			}
		})
	}
}

// panicking is a result that cannot be encoded.
type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("no JSON") }

func TestACallThatTheServerHasGivenUpIsEndedAndAnotherGetsItsPlace(t *testing.T) {
	server, tenant := servertest.Start(t, nil), servertest.Tenant(t)
	began, mayEnd := make(chan string, 3), make(chan struct{})
	member := join(t, server, tenant, func(m *interlock.Member) {
		m.Processor("price", func(ctx context.Context, call *interlock.Call) (any, error) {
			if _, limited := ctx.Deadline(); !limited {
				return nil, errors.New("the call has no deadline")
			}
			began <- call.Transition.Name
			if call.Transition.Name == "hangs" { // whatever becomes of its context
				<-mayEnd
			}
			return nil, nil
		})
	}, interlock.WithConcurrency(1))
	defer close(mayEnd)
	var moves []string
	for name, limit := range map[string]int{"hangs": 3_000, "waits": 100, "goes": 30_000} {
		moves = append(moves, fmt.Sprintf(`{"name":"%s","next":"DONE","manual":true,"processors":[{"name":"price","type":"externalized",
			"executionMode":"SYNC","config":{"calculationNodesTags":"go","responseTimeoutMs":%d}}]}`, name, limit))
	}
	makeParcels(t, member.Session, `{"version":"1","name":"parcels","initialState":"NEW","states":{
		"NEW":{"transitions":[`+strings.Join(moves, ",")+`]},"DONE":{}}}`)
	ctx := servertest.Context(t)
	move := func(transition string) <-chan error {
		written, err := member.Create(ctx, parcel, json.RawMessage(`{"sku":"A-1","weight":1}`))
		must(t, err)
		moved := make(chan error, 1)
		go func() { moved <- member.Transition(ctx, written.EntityID, transition) }()
		return moved
	}
	hangs := move("hangs")
	if name := <-began; name != "hangs" {
		t.Fatalf("%s began", name)
	}
	var failure *interlock.Error
	if err := <-move("waits"); !errors.As(err, &failure) || !strings.Contains(failure.Message, "DISPATCH_TIMEOUT") {
		t.Errorf("what waited ended with %v", err)
	}
	goes := move("goes")
	if err := <-hangs; !errors.As(err, &failure) || !strings.Contains(failure.Message, "DISPATCH_TIMEOUT") {
		t.Errorf("what hung ended with %v", err)
	}
	must(t, <-goes)
	if name := <-began; name != "goes" {
		t.Errorf("%s began", name)
	}
}

func TestARetryableFailureIsRetriedUnderTheSameKey(t *testing.T) {
	server, tenant := servertest.Start(t, nil), servertest.Tenant(t)
	var keys []string
	member := join(t, server, tenant, func(m *interlock.Member) {
		m.Processor("price", func(_ context.Context, call *interlock.Call) (any, error) {
			if keys = append(keys, call.DispatchKey); len(keys) == 1 {
				return nil, interlock.Retry("try again")
			}
			return nil, nil
		})
	})
	makeParcels(t, member.Session, processor("price", `"retryPolicy":"FIXED"`))
	_, _, err := create(t, member.Session)
	must(t, err)
	if len(keys) != 2 || keys[0] == "" || keys[0] != keys[1] {
		t.Errorf("the keys are %q", keys)
	}
}

func TestACriterionDecidesAndSaysWhy(t *testing.T) {
	server, tenant := servertest.Start(t, nil), servertest.Tenant(t)
	member := join(t, server, tenant, func(m *interlock.Member) {
		m.Criterion("is-light", func(_ context.Context, call *interlock.Call) (interlock.Verdict, error) {
			var document struct{ Weight json.Number }
			if err := call.Decode(&document); err != nil {
				return interlock.Verdict{}, err
			}
			weight, err := document.Weight.Float64()
			return interlock.Verdict{Holds: weight < 1, Reason: document.Weight.String() + " kg are too much"}, err
		})
	})
	makeParcels(t, member.Session, criterion("is-light"))
	entity, _, err := create(t, member.Session)
	must(t, err)
	if entity.State != "NEW" {
		t.Errorf("the parcel is in %s", entity.State)
	}
}

func TestAScheduleFunctionDecidesWhen(t *testing.T) {
	server, tenant := servertest.Start(t, nil), servertest.Tenant(t)
	member := join(t, server, tenant, func(m *interlock.Member) {
		m.Schedule("soon", func(context.Context, *interlock.Call) (interlock.Schedule, error) {
			return interlock.Schedule{FireAfter: 20 * time.Millisecond}, nil
		})
	})
	makeParcels(t, member.Session, flow(`"manual":false,
		"schedule":{"function":{"name":"soon","resultKind":"Schedule","calculationNodesTags":"go"}}`))
	ctx := servertest.Context(t)
	_, err := member.Create(ctx, parcel, map[string]any{"sku": "A"})
	must(t, err)
	for change, err := range member.FollowChanges(ctx, interlock.Changes{After: api.Ptr(int64(0))}) {
		must(t, err)
		if change.State == "DONE" {
			return
		}
	}
}

func TestACallWritesInItsTransaction(t *testing.T) {
	server, tenant := servertest.Start(t, nil), servertest.Tenant(t)
	label := interlock.Model{Name: "label", Version: 1}
	fail := false
	var seenInside, seenOutside error
	var labelID string
	member := join(t, server, tenant, func(m *interlock.Member) {
		m.Processor("price", func(ctx context.Context, call *interlock.Call) (any, error) {
			written, err := call.Tx.Create(ctx, label, map[string]any{"sku": call.Document()["sku"]})
			if err != nil {
				return nil, err
			}
			labelID = written.EntityID
			_, seenInside = call.Tx.Get(ctx, labelID)
			_, seenOutside = m.Get(ctx, labelID)
			if fail {
				return nil, interlock.Reject("no")
			}
			return nil, nil
		})
	})
	ctx := servertest.Context(t)
	must(t, member.ImportModel(ctx, label, map[string]any{"sku": "A"}))
	must(t, member.LockModel(ctx, label))
	makeParcels(t, member.Session, processor("price"))
	_, _, err := create(t, member.Session)
	must(t, err)
	must(t, seenInside)
	if !errors.Is(seenOutside, interlock.ErrNotFound) {
		t.Errorf("outside the transaction: %v", seenOutside)
	}
	_, err = member.Get(ctx, labelID)
	must(t, err)
	fail = true
	if _, _, err := create(t, member.Session); err == nil {
		t.Fatal("the rejection had no effect")
	}
	if _, err := member.Get(ctx, labelID); !errors.Is(err, interlock.ErrNotFound) {
		t.Errorf("what was rolled back is there: %v", err)
	}
}

func TestAMemberWithOnePlaceServesTheCallThatItsProcessorCauses(t *testing.T) {
	server, tenant := servertest.Start(t, nil), servertest.Tenant(t)
	depth := 0
	member := join(t, server, tenant, func(m *interlock.Member) {
		m.Processor("price", func(ctx context.Context, call *interlock.Call) (any, error) {
			if depth++; depth > 1 {
				return nil, nil
			}
			_, err := call.Tx.Create(ctx, parcel, map[string]any{"sku": "inner"})
			return nil, err
		})
	}, interlock.WithConcurrency(1))
	makeParcels(t, member.Session, processor("price"))
	_, _, err := create(t, member.Session)
	must(t, err)
	if depth != 2 {
		t.Errorf("%d calls were served", depth)
	}
}

func TestAThousandCallsAtOnce(t *testing.T) {
	server, tenant := servertest.Start(t, nil), servertest.Tenant(t)
	gate := make(chan struct{})
	var waiting sync.WaitGroup
	const count = 1000
	waiting.Add(count)
	member := join(t, server, tenant, func(m *interlock.Member) {
		m.Processor("price", func(ctx context.Context, _ *interlock.Call) (any, error) {
			waiting.Done()
			select {
			case <-gate:
				return nil, nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		})
	}, interlock.WithConcurrency(count))
	makeParcels(t, member.Session, processor("price"))
	ctx := servertest.Context(t)
	failures := make(chan error, count)
	clients := make([]*interlock.Client, 4) // a server works on 256 requests of a stream
	for i := range clients {
		clients[i] = connect(t, server, tenant)
	}
	for i := range count {
		go func() {
			_, err := clients[i%len(clients)].Create(ctx, parcel, map[string]any{"sku": "A"})
			failures <- err
		}()
	}
	waiting.Wait()
	close(gate)
	for range count {
		must(t, <-failures)
	}
}

func TestARunningCallIsCancelledWithItsStreamAndTheMemberJoinsAgain(t *testing.T) {
	server, tenant := servertest.Start(t, nil), servertest.Tenant(t)
	began, cancelled := make(chan struct{}), make(chan error, 1)
	calls := 0
	member := join(t, server, tenant, func(m *interlock.Member) {
		m.Processor("price", func(ctx context.Context, _ *interlock.Call) (any, error) {
			if calls++; calls > 1 {
				return nil, nil
			}
			close(began)
			<-ctx.Done()
			cancelled <- ctx.Err()
			return nil, ctx.Err()
		})
	})
	makeParcels(t, member.Session, processor("price"))
	client := connect(t, server, tenant)
	ctx := servertest.Context(t)
	failed := make(chan error, 1)
	go func() {
		_, err := client.Create(ctx, parcel, map[string]any{"sku": "A"})
		failed <- err
	}()
	<-began
	server.Kill()
	if err := <-failed; !errors.Is(err, interlock.ErrConnectionLost) {
		t.Errorf("the caller got %v", err)
	}
	if err := <-cancelled; !errors.Is(err, context.Canceled) {
		t.Errorf("the handler got %v", err)
	}
	server.Start()
	for {
		answer, err := client.ComputeMembersGet(ctx, &api.ComputeMembersGetRequest{})
		if err == nil && len(answer.Members) == 1 {
			break
		}
		if err != nil && !errors.Is(err, interlock.ErrConnectionLost) {
			t.Fatal(err)
		}
	}
	makeParcels(t, client.Session, processor("price")) // the server keeps nothing
	_, _, err := create(t, client.Session)
	must(t, err)
}

func TestAHandlerThatGoesOnAfterItsStreamWasLostKeepsNoPlace(t *testing.T) {
	server, tenant := servertest.Start(t, nil), servertest.Tenant(t)
	began, mayEnd := make(chan struct{}, 4), make(chan struct{})
	var calls, tasks atomic.Int32
	hang := func(begun *atomic.Int32) (any, error) {
		if begun.Add(1) == 1 {
			began <- struct{}{}
			<-mayEnd // whatever becomes of its context
		}
		return nil, nil
	}
	member := join(t, server, tenant, func(m *interlock.Member) {
		m.Processor("price", func(context.Context, *interlock.Call) (any, error) { return hang(&calls) })
		m.Action("charge", func(context.Context, *interlock.Task) (any, error) { return hang(&tasks) })
	}, interlock.WithConcurrency(1))
	defer close(mayEnd)
	client := connect(t, server, tenant)
	ctx := servertest.Context(t)
	prepare := func() {
		makeParcels(t, client.Session, processor("price"))
		_, err := client.ActionRegister(ctx, &api.ActionRegisterRequest{Name: "charge"})
		must(t, err)
		_, err = client.RunDefinitionCreate(ctx, &api.RunDefinitionCreateRequest{Document: json.RawMessage(
			`{"kind":"Workflow","name":"charging","version":"1","start":{"run":"@actions/charge","transitions":{"success":"flo.Completed"}}}`)})
		must(t, err)
	}
	prepare()
	failed := make(chan error, 1)
	go func() {
		_, err := client.Create(ctx, parcel, map[string]any{"sku": "A"})
		failed <- err
	}()
	_, err := client.RunStart(ctx, &api.RunStartRequest{Definition: "charging"})
	must(t, err)
	<-began
	<-began
	server.Kill()
	<-failed
	server.Start()
	for {
		answer, err := client.ComputeMembersGet(ctx, &api.ComputeMembersGetRequest{})
		if err == nil && len(answer.Members) == 1 {
			break
		}
	}
	prepare() // the server keeps nothing
	_, _, err = create(t, client.Session)
	must(t, err)
	run, err := member.RunStart(ctx, &api.RunStartRequest{Definition: "charging", WaitMs: api.Ptr(uint64(20_000))})
	must(t, err)
	if run.Run == nil || run.Run.Status != "completed" {
		t.Errorf("the run is %+v", run.Run)
	}
}

func TestAMemberThatStopsFinishesWhatIsRunning(t *testing.T) {
	server, tenant := servertest.Start(t, nil), servertest.Tenant(t)
	began, finish := make(chan struct{}), make(chan struct{})
	member, err := interlock.NewMember(server.Target, tenant, interlock.WithTags("go"))
	must(t, err)
	member.Processor("price", func(context.Context, *interlock.Call) (any, error) {
		close(began)
		<-finish
		return map[string]any{"sku": "done"}, nil
	})
	running, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- member.Run(running) }()
	client := connect(t, server, tenant)
	makeParcels(t, client.Session, processor("price"))
	ctx := servertest.Context(t)
	for {
		answer, err := client.ComputeMembersGet(ctx, &api.ComputeMembersGetRequest{})
		must(t, err)
		if len(answer.Members) == 1 {
			break
		}
	}
	created := make(chan error, 1)
	go func() {
		_, err := client.Create(ctx, parcel, map[string]any{"sku": "A"})
		created <- err
	}()
	<-began
	stop()
	close(finish)
	must(t, <-created)
	must(t, <-ended)
}

func TestAMemberThatTheServerRefusesEnds(t *testing.T) {
	server := servertest.Start(t, map[string]string{"INTERLOCK_IAM_MOCK_CALLER": "true"})
	member, err := interlock.NewMember(server.Target, interlock.WithMetadata("x-mock-roles", "ROLE_USER"), interlock.WithTags("go"))
	must(t, err)
	err = member.Run(servertest.Context(t))
	if !errors.Is(err, api.CodeForbidden) {
		t.Errorf("the failure is %v", err)
	}
}

func TestAnActionExecutesATask(t *testing.T) {
	server, tenant := servertest.Start(t, nil), servertest.Tenant(t)
	member := join(t, server, tenant, func(m *interlock.Member) {
		m.Action("charge", func(_ context.Context, task *interlock.Task) (any, error) {
			var input struct{ Amount json.Number }
			if err := task.Decode(&input); err != nil {
				return nil, err
			}
			return map[string]any{"charged": input.Amount, "attempt": task.Attempt}, nil
		})
	})
	ctx := servertest.Context(t)
	_, err := member.ActionRegister(ctx, &api.ActionRegisterRequest{Name: "charge"})
	must(t, err)
	answer, err := member.ActionInvoke(ctx, &api.ActionInvokeRequest{
		Name: "charge", Input: json.RawMessage(`{"amount":12.30}`), WaitMs: api.Ptr(uint64(10_000)),
	})
	must(t, err)
	if output := string(answer.Task.Output); output != `{"attempt":1,"charged":12.30}` {
		t.Errorf("the task is %+v with the output %s", answer.Task, output)
	}
}

func TestACancelledTaskLeavesItsPlaceToTheNextOne(t *testing.T) {
	server, tenant := servertest.Start(t, nil), servertest.Tenant(t)
	began, mayEnd := make(chan struct{}), make(chan struct{})
	member := join(t, server, tenant, func(m *interlock.Member) {
		m.Action("hangs", func(context.Context, *interlock.Task) (any, error) { // whatever becomes of its context
			close(began)
			<-mayEnd
			return nil, nil
		})
		m.Action("goes", func(context.Context, *interlock.Task) (any, error) { return nil, nil })
	}, interlock.WithConcurrency(1))
	defer close(mayEnd)
	ctx := servertest.Context(t)
	for _, name := range []string{"hangs", "goes"} {
		_, err := member.ActionRegister(ctx, &api.ActionRegisterRequest{Name: name})
		must(t, err)
		_, err = member.RunDefinitionCreate(ctx, &api.RunDefinitionCreateRequest{Document: json.RawMessage(fmt.Sprintf(
			`{"kind":"Workflow","name":"%s","version":"1","start":{"run":"@actions/%s","transitions":{"success":"flo.Completed"}}}`, name, name))})
		must(t, err)
	}
	hangs, err := member.RunStart(ctx, &api.RunStartRequest{Definition: "hangs"})
	must(t, err)
	<-began
	_, err = member.RunCancel(ctx, &api.RunCancelRequest{RunID: hangs.RunID})
	must(t, err)
	goes, err := member.RunStart(ctx, &api.RunStartRequest{Definition: "goes", WaitMs: api.Ptr(uint64(20_000))})
	must(t, err)
	if goes.Run == nil || goes.Run.Status != "completed" {
		t.Errorf("the run is %+v", goes.Run)
	}
}

func TestAFailureAndWarningsOfAnySizeFailTheCallAlone(t *testing.T) {
	server, tenant := servertest.Start(t, nil), servertest.Tenant(t)
	began, finish := make(chan struct{}), make(chan struct{})
	large := strings.Repeat("é\x01", 9<<20)
	member := join(t, server, tenant, func(m *interlock.Member) {
		m.Processor("price", func(_ context.Context, call *interlock.Call) (any, error) {
			switch call.Document()["sku"] {
			case "slow":
				close(began)
				<-finish
				return nil, nil
			case "warned":
				for range 3000 {
					call.Warn("%s", large[:1<<20])
				}
			}
			return nil, errors.New(large)
		})
		m.Action("charge", func(context.Context, *interlock.Task) (any, error) {
			return nil, &interlock.Rejection{Reason: large, Code: large}
		})
	})
	makeParcels(t, member.Session, processor("price"))
	ctx := servertest.Context(t)
	created := make(chan error, 1)
	go func() {
		_, err := member.Create(ctx, parcel, map[string]any{"sku": "slow"})
		created <- err
	}()
	<-began
	for _, sku := range []string{"large", "warned"} {
		_, err := member.Create(ctx, parcel, map[string]any{"sku": sku})
		var failure *interlock.Error
		if !errors.As(err, &failure) || failure.Code != api.CodeWorkflowFailed || !strings.Contains(failure.Message, "é") {
			t.Errorf("the failure is %.200v", err)
		}
	}
	_, err := member.ActionRegister(ctx, &api.ActionRegisterRequest{Name: "charge"})
	must(t, err)
	answer, err := member.ActionInvoke(ctx, &api.ActionInvokeRequest{Name: "charge", WaitMs: api.Ptr(uint64(10_000))})
	must(t, err)
	if !strings.HasPrefix(answer.Task.Error.Message, "é") {
		t.Errorf("the task is %.200v", answer.Task)
	}
	close(finish)
	must(t, <-created) // it was on the same stream
}

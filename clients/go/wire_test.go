package interlock_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"

	"interlock.internal/interlock"
	"interlock.internal/interlock/api"
	"interlock.internal/interlock/api/cloudevents"
	"interlock.internal/interlock/internal/servertest"
)

// recorder is a server that keeps the first event of a stream, and answers it.
func recorder(t *testing.T) (target string, received chan *cloudevents.CloudEvent) {
	t.Helper()
	received = make(chan *cloudevents.CloudEvent, 1)
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		if err := stream.SendHeader(nil); err != nil {
			return err
		}
		request := new(cloudevents.CloudEvent)
		if err := stream.RecvMsg(request); err != nil {
			return err
		}
		received <- request
		return stream.SendMsg(&cloudevents.CloudEvent{
			Type: "AccountGetResponse",
			Attributes: map[string]*cloudevents.CloudEvent_CloudEventAttributeValue{"requestid": {
				Attr: &cloudevents.CloudEvent_CloudEventAttributeValue_CeString{CeString: request.Id},
			}},
			Data: &cloudevents.CloudEvent_TextData{TextData: `{"success":true}`},
		})
	}))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String(), received
}

func TestARequestCarriesTheTraceOfItsContext(t *testing.T) {
	target, received := recorder(t)
	client, err := interlock.New(target)
	must(t, err)
	defer client.Close()
	span := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled,
	})
	ctx := trace.ContextWithSpanContext(servertest.Context(t), span)
	_, err = client.AccountGet(ctx, &api.AccountGetRequest{})
	must(t, err)
	parent := (<-received).GetAttributes()["traceparent"].GetCeString()
	if parent != "00-01000000000000000000000000000000-0200000000000000-01" {
		t.Errorf("the request has the traceparent %q", parent)
	}
}

func TestJoiningAnnouncesActionsAndTheTagsOfWorkflows(t *testing.T) {
	target, received := recorder(t)
	member, err := interlock.NewMember(target, interlock.WithTags("billing"), interlock.WithConcurrency(7),
		interlock.WithNamespace("shop"), interlock.WithLabels(map[string]string{"zone": "eu"}))
	must(t, err)
	nothing := func(context.Context, *interlock.Task) (any, error) { return nil, nil }
	member.Workflow("org.acme.flows:import-file", nothing)
	member.Action("charge", nothing)
	ctx, cancel := context.WithCancel(servertest.Context(t))
	ended := make(chan error, 1)
	go func() { ended <- member.Run(ctx) }()
	joined := <-received
	cancel()
	must(t, <-ended)
	var read api.CalculationMemberJoinEvent
	must(t, json.Unmarshal([]byte(joined.GetTextData()), &read))
	if fmt.Sprint(read.Tags, read.Actions) != "[billing workflow:org.acme.flows:import-file] [charge org.acme.flows:import-file]" {
		t.Errorf("it announces %v and %v", read.Tags, read.Actions)
	}
	if *read.MaxConcurrency != 7 || read.Namespace != "shop" || read.Labels["zone"] != "eu" {
		t.Errorf("it announces %s", joined.GetTextData())
	}
}

// scripted is a server of one member: it greets it as "m-1", and sends what the script returns for
// each event.
func scripted(t *testing.T, script func(*cloudevents.CloudEvent) []*cloudevents.CloudEvent) (target string) {
	t.Helper()
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		if err := stream.SendHeader(nil); err != nil {
			return err
		}
		for {
			received := new(cloudevents.CloudEvent)
			if stream.RecvMsg(received) != nil {
				return nil
			}
			if received.Type == "CalculationMemberJoinEvent" {
				_ = stream.SendMsg(sent("CalculationMemberGreetEvent", `{"success":true,"memberId":"m-1"}`))
			}
			for _, one := range script(received) {
				_ = stream.SendMsg(one)
			}
		}
	}))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

func sent(eventType, data string) *cloudevents.CloudEvent {
	return &cloudevents.CloudEvent{Type: eventType, Data: &cloudevents.CloudEvent_TextData{TextData: data}}
}

// rejection is a failed answer.
type rejection struct {
	RequestID string `json:"requestId"`
	Success   bool   `json:"success"`
	Error     struct {
		Message   string `json:"message"`
		Retryable bool   `json:"retryable"`
	} `json:"error"`
}

// answers are what a member sends to the calls that it is given when it has joined.
func answers(t *testing.T, prepare func(*interlock.Member), calls []*cloudevents.CloudEvent, options ...interlock.Option) <-chan *cloudevents.CloudEvent {
	t.Helper()
	sent := make(chan *cloudevents.CloudEvent, len(calls))
	target := scripted(t, func(received *cloudevents.CloudEvent) []*cloudevents.CloudEvent {
		if received.Type == "CalculationMemberJoinEvent" {
			return calls
		}
		if strings.HasSuffix(received.Type, "CalculationResponse") {
			sent <- received
		}
		return nil
	})
	member, err := interlock.NewMember(target, options...)
	must(t, err)
	prepare(member)
	must(t, member.Join(servertest.Context(t)))
	endWithTest(t, member)
	return sent
}

func TestACallThatCannotBeReadIsRejectedAsRetryable(t *testing.T) {
	odd := `{"requestId":"odd","processorName":7,"name":7}`
	answered := answers(t, func(*interlock.Member) {}, []*cloudevents.CloudEvent{
		sent("EntityProcessorCalculationRequest", odd), sent("TaskCalculationRequest", odd),
	})
	for _, kind := range []string{"EntityProcessor", "Task"} {
		answer := <-answered
		var read rejection
		must(t, json.Unmarshal([]byte(answer.GetTextData()), &read))
		if answer.Type != kind+"CalculationResponse" || read.RequestID != "odd" || read.Success || !read.Error.Retryable ||
			!strings.HasPrefix(read.Error.Message, "this member cannot read the call: ") {
			t.Errorf("%s was answered with %s %s", kind, answer.Type, answer.GetTextData())
		}
	}
}

func TestMoreCallsThanRunAndWaitAreRejectedAsRetryable(t *testing.T) {
	var calls []*cloudevents.CloudEvent
	for i := range 1024 + 2*2 + 1 {
		calls = append(calls, sent("EntityProcessorCalculationRequest", fmt.Sprintf(`{"requestId":"%d","processorName":"price"}`, i)))
	}
	answered := answers(t, func(m *interlock.Member) {
		m.Processor("price", func(ctx context.Context, _ *interlock.Call) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, interlock.Detached())
	}, calls, interlock.WithConcurrency(2))
	answer := (<-answered).GetTextData()
	var read rejection
	must(t, json.Unmarshal([]byte(answer), &read))
	if read.RequestID != "1028" || !read.Error.Retryable || read.Error.Message != "this member already has 1028 calls in flight" {
		t.Errorf("it was answered with %s", answer)
	}
}

func TestAProcessorThatReturnsAVerdictFails(t *testing.T) {
	answered := answers(t, func(m *interlock.Member) {
		m.Processor("price", func(context.Context, *interlock.Call) (any, error) {
			return interlock.Verdict{Holds: true}, nil
		}, interlock.Detached())
	}, []*cloudevents.CloudEvent{sent("EntityProcessorCalculationRequest", `{"requestId":"r","processorName":"price"}`)})
	answer := (<-answered).GetTextData()
	var read rejection
	must(t, json.Unmarshal([]byte(answer), &read))
	if read.Success || read.Error.Message != "a processor returns the new document or nil, not interlock.Verdict" {
		t.Errorf("it was answered with %s", answer)
	}
}

func TestAMemberThatStopsSaysSoAndAnswersWhatComesNevertheless(t *testing.T) {
	call := func(id string) *cloudevents.CloudEvent {
		return sent("EntityProcessorCalculationRequest", `{"requestId":"`+id+`","entityId":"e","processorName":"price"}`)
	}
	began, refused := make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	var drains, answers []string
	target := scripted(t, func(received *cloudevents.CloudEvent) []*cloudevents.CloudEvent {
		mu.Lock()
		defer mu.Unlock()
		switch text := received.GetTextData(); {
		case received.Type == "CalculationMemberJoinEvent":
			return []*cloudevents.CloudEvent{call("first")}
		case received.Type == "WorkerDrainRequest":
			drains = append(drains, text)
			late := sent("TaskCalculationRequest", `{"requestId":"task","taskId":"t","name":"charge","input":{},"deadline":"2030-01-01T00:00:00Z"}`)
			return []*cloudevents.CloudEvent{call("late"), late} // and no answer to the request itself
		case strings.HasSuffix(received.Type, "CalculationResponse"):
			if answers = append(answers, text); len(answers) == 2 {
				close(refused)
			}
		}
		return nil
	})
	member, err := interlock.NewMember(target)
	must(t, err)
	member.Processor("price", func(context.Context, *interlock.Call) (any, error) {
		close(began)
		<-refused
		return map[string]any{"sku": "done"}, nil
	}, interlock.Detached())
	must(t, member.Join(servertest.Context(t)))
	<-began
	stopping := time.Now()
	must(t, member.Shutdown(servertest.Context(t)))
	if took := time.Since(stopping); took > 8*time.Second {
		t.Errorf("it waited %s for the answer to the request", took)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(drains) != 1 || !strings.Contains(drains[0], `"workerId":"m-1"`) || !strings.Contains(drains[0], `"id":"`) {
		t.Errorf("the server was told %s", drains)
	}
	if len(answers) != 3 || !strings.Contains(answers[2], `"requestId":"first","success":true`) {
		t.Fatalf("the answers are %s", answers)
	}
	for i, id := range []string{"late", "task"} {
		failure := `"error":{"code":"MEMBER_STOPPING","message":"the member is stopping","retryable":true}`
		if !strings.Contains(answers[i], `"requestId":"`+id+`"`) || !strings.Contains(answers[i], failure) {
			t.Errorf("%s was answered with %s", id, answers[i])
		}
	}
}

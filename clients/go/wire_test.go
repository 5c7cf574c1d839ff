package interlock_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"testing"

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

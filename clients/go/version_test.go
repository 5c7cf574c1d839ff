package interlock_test

import (
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"interlock.internal/interlock"
	"interlock.internal/interlock/api"
	"interlock.internal/interlock/internal/servertest"
)

// ofVersion is a server that says its version and nothing else; it counts its streams.
func ofVersion(t *testing.T, version string) (target string, streams *atomic.Int32) {
	t.Helper()
	streams = new(atomic.Int32)
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		streams.Add(1)
		if err := stream.SendHeader(metadata.Pairs("interlock-version", version)); err != nil {
			return err
		}
		<-stream.Context().Done()
		return nil
	}))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String(), streams
}

func TestAServerOfAnotherVersionIsRefusedAtOnceAndByName(t *testing.T) {
	for _, version := range []string{"2.0.0", "0.2.0", "1.0.0-rc.1", "tomorrow's"} {
		target, streams := ofVersion(t, version)
		client, err := interlock.New(target)
		must(t, err)
		defer client.Close()
		member, err := interlock.NewMember(target)
		must(t, err)
		_, asked := client.AccountGet(servertest.Context(t), &api.AccountGetRequest{})
		joined := member.Run(servertest.Context(t))
		seen := int64(0)
		var followed error
		for _, err := range client.FollowChanges(servertest.Context(t), interlock.Changes{After: &seen}) {
			followed = err
			break
		}
		want := "SERVER_NOT_UNDERSTOOD: the server is of version " + version + "; this client understands 0.1"
		for _, err := range []error{asked, joined, followed} {
			var refused *interlock.Error
			if !errors.As(err, &refused) || refused.Error() != want || refused.Retryable {
				t.Errorf("expected %q, got %v", want, err)
			}
			if !errors.Is(err, interlock.CodeServerNotUnderstood) {
				t.Errorf("%v does not have the code", err)
			}
		}
		if streams.Load() != 3 {
			t.Errorf("%d streams were opened to a server of version %s", streams.Load(), version)
		}
	}
}

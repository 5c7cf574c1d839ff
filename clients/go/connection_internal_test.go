package interlock

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// counter is a log that counts its lines.
type counter struct {
	slog.Handler
	lines *atomic.Int64
}

func (c counter) Handle(context.Context, slog.Record) error {
	c.lines.Add(1)
	return nil
}

func TestAfterALongConnectionTheDelayBetweenAttemptsGrows(t *testing.T) {
	lines := new(atomic.Int64)
	log := slog.New(counter{slog.Default().Handler(), lines})
	connection, err := newConnection("127.0.0.1:1", newConfig([]Option{WithLogger(log)}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.shutDown(context.Background()) }()
	connection.opened = time.Now().Add(-time.Minute)
	connection.delay = delayMax
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if _, err := connection.streamEventually(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the failure is %v", err)
	}
	// At once, then after delays of about 0.1, 0.2, 0.4 and 0.8 s, which may be halved.
	if attempts := lines.Load(); attempts < 3 || attempts > 7 {
		t.Errorf("there were %d attempts", attempts)
	}
}

func TestCallersWithLittleTimeConnectInTheEnd(t *testing.T) {
	lines := new(atomic.Int64)
	log := slog.New(counter{slog.Default().Handler(), lines})
	connection, err := newConnection("127.0.0.1:1", newConfig([]Option{WithLogger(log), WithConnectTimeout(300 * time.Millisecond)}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.shutDown(context.Background()) }()
	connection.delay = delayMax
	connection.next = time.Now().Add(time.Second) // longer than any of them waits
	for lines.Load() == 0 {
		if _, err := connection.streamSoon(context.Background()); !errors.Is(err, ErrConnectionLost) || !errors.Is(err, ErrRetryable) {
			t.Fatalf("the failure is %v", err)
		}
		if time.Now().After(connection.next.Add(5 * time.Second)) {
			t.Fatal("nobody has tried")
		}
	}
	// Who waits meanwhile is told why there is no connection.
	if _, err := connection.streamSoon(context.Background()); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("the failure is %v", err)
	}
}

func TestWhoCannotConnectIsToldWhy(t *testing.T) {
	connection, err := newConnection("127.0.0.1:1", newConfig([]Option{WithConnectTimeout(500 * time.Millisecond)}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.shutDown(context.Background()) }()
	if err := connection.connect(context.Background()); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("the failure is %v", err)
	}
}

// slowSource is a source of tokens that never has one.
type slowSource struct{}

func (slowSource) Token(ctx context.Context) (string, error) {
	<-ctx.Done()
	return "", context.Cause(ctx)
}

func TestATokenThatDoesNotComeInTimeIsALostConnection(t *testing.T) {
	connection, err := newConnection("127.0.0.1:1", newConfig([]Option{WithTokenSource(slowSource{})}))
	if err != nil {
		t.Fatal(err)
	}
	// As when the time for opening a stream is over, which is no reason for a member to end.
	ctx, cancel := context.WithTimeoutCause(context.Background(), 20*time.Millisecond, connectionLost("no answer"))
	defer cancel()
	if _, _, err := connection.openOnce(ctx); !errors.Is(err, ErrConnectionLost) {
		t.Errorf("the failure is %v", err)
	}
	time.AfterFunc(20*time.Millisecond, func() { _ = connection.shutDown(context.Background()) })
	if _, _, err := connection.openOnce(context.Background()); !errors.Is(err, CodeClientClosed) {
		t.Errorf("the failure is %v", err)
	}
}

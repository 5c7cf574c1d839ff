package interlock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"interlock.internal/interlock"
	"interlock.internal/interlock/api"
	"interlock.internal/interlock/internal/servertest"
)

func TestClientCredentialsObtainATokenAndReplaceARefusedOne(t *testing.T) {
	server, credentials := guarded(t)
	client := connect(t, server, interlock.WithTokenSource(credentials))
	ctx := servertest.Context(t)
	account, err := client.AccountGet(ctx, &api.AccountGetRequest{})
	must(t, err)
	if account.ID == "" { // that of the request
		t.Errorf("the account is %+v", account)
	}
	refused := connect(t, server, interlock.WithTokenSource(&interlock.ClientCredentials{
		URL: credentials.URL, ClientID: "first", ClientSecret: "wrong",
	}))
	if _, err := refused.AccountGet(ctx, &api.AccountGetRequest{}); !errors.Is(err, api.CodeUnauthorized) {
		t.Errorf("a wrong secret: %v", err)
	}
	stale := &staleToken{source: credentials}
	again := connect(t, server, interlock.WithTokenSource(stale))
	_, err = again.AccountGet(ctx, &api.AccountGetRequest{})
	must(t, err)
	if !stale.forgotten {
		t.Error("the refused token was not forgotten")
	}
}

// guarded is a server that asks for tokens, and the credentials of its first client.
func guarded(t *testing.T) (*servertest.Server, *interlock.ClientCredentials) {
	t.Helper()
	key, err := filepath.Abs("../../tests/keys/signing.pem")
	must(t, err)
	server := servertest.Start(t, map[string]string{
		"CYODA_IAM_MODE": "jwt", "INTERLOCK_IAM_MOCK_CALLER": "false", "CYODA_JWT_SIGNING_KEY_FILE": key,
		"CYODA_BOOTSTRAP_CLIENT_ID": "first", "CYODA_BOOTSTRAP_CLIENT_SECRET": "change-me",
		"CYODA_BOOTSTRAP_TENANT_ID": "6b1f0c3e-2a5d-4c7e-9b8a-0d1e2f3a4b5c",
	})
	return server, &interlock.ClientCredentials{
		URL: server.HTTP + "/api/oauth/token", ClientID: "first", ClientSecret: "change-me",
	}
}

// successors is a source of the tokens of the first of these clients, then of the next, and so on.
type successors struct {
	mu      sync.Mutex
	clients []*interlock.ClientCredentials
}

func (s *successors) first() *interlock.ClientCredentials {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clients[0]
}

func (s *successors) Token(ctx context.Context) (string, error) { return s.first().Token(ctx) }

func (s *successors) Forget(refused string) {
	if token, err := s.first().Token(context.Background()); err != nil || token != refused {
		return // it is another's by now
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients = s.clients[1:]
}

func TestWhenTokensAreRevokedFeedsGoOnAndWhatWaitsIsALostConnection(t *testing.T) {
	server, credentials := guarded(t)
	admin := connect(t, server, interlock.WithTokenSource(credentials))
	ctx := servertest.Context(t)
	source := &successors{}
	for range 4 {
		made, err := admin.ClientCreate(ctx, &api.ClientCreateRequest{})
		must(t, err)
		source.clients = append(source.clients, &interlock.ClientCredentials{
			URL: credentials.URL, ClientID: made.ClientID, ClientSecret: made.ClientSecret,
		})
	}
	revoke := func() {
		_, err := admin.ClientDelete(ctx, &api.ClientDeleteRequest{ClientID: source.first().ClientID})
		must(t, err)
	}
	makeParcels(t, admin.Session, "")
	createEventually(ctx, t, admin.Session, "0")
	client := connect(t, server, interlock.WithTokenSource(source))
	var seen []int64
	for change, err := range client.FollowChanges(ctx, interlock.Changes{After: api.Ptr(int64(0))}) {
		must(t, err)
		if seen = append(seen, *change.Sequence); len(seen) == 3 {
			break
		}
		revoke()
		createEventually(ctx, t, admin.Session, "1")
	}
	if len(seen) != 3 || seen[0] >= seen[1] || seen[1] >= seen[2] {
		t.Errorf("the feed was %v", seen)
	}
	_, err := client.WorkerRegister(ctx, &api.WorkerRegisterRequest{WorkerID: "w", Actions: []string{"a"}})
	must(t, err)
	lost := make(chan error, 1)
	go func() {
		_, err := client.TaskAwait(ctx, &api.TaskAwaitRequest{WorkerID: "w", Actions: []string{"a"}})
		lost <- err
	}()
	time.Sleep(300 * time.Millisecond) // by then it was sent
	revoke()
	if err := <-lost; !errors.Is(err, interlock.ErrConnectionLost) || errors.Is(err, interlock.ErrRetryable) {
		t.Errorf("the failure is %v", err)
	}
	_, err = client.AccountGet(ctx, &api.AccountGetRequest{})
	must(t, err)
}

// staleToken has a token at first that the server refuses.
type staleToken struct {
	source    interlock.TokenSource
	forgotten bool
}

func (s *staleToken) Token(ctx context.Context) (string, error) {
	if s.forgotten {
		return s.source.Token(ctx)
	}
	return "stale", nil
}

func (s *staleToken) Forget(string) { s.forgotten = true }

// endpoint is a token endpoint that answers with these bytes, once the gate is closed if there is
// one. It counts the requests.
func endpoint(t *testing.T, answer string, gate <-chan struct{}) (url string, asked *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	asked = new(atomic.Int64)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			asked.Add(1)
			go func() {
				_, _ = connection.Read(make([]byte, 4096))
				if gate != nil {
					<-gate
				}
				_, _ = connection.Write([]byte(answer))
				_ = connection.Close()
			}()
		}
	}()
	return "http://" + listener.Addr().String() + "/api/oauth/token", asked
}

func answered(status, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
}

func TestOnlyTheRefusalOfATokenEndpointIsFinal(t *testing.T) {
	granted, html := `{"access_token":"t","expires_in":60}`, "<html>starting</html>"
	for name, test := range map[string]struct {
		answer string
		code   error
	}{
		"html":          {answered("200 OK", html), interlock.ErrConnectionLost},
		"no token":      {answered("200 OK", `{"hello":1}`), interlock.ErrConnectionLost},
		"cut off":       {answered("200 OK", granted)[:90], interlock.ErrConnectionLost},
		"no HTTP":       {"what is this?\r\n\r\n", interlock.ErrConnectionLost},
		"nothing":       {"", interlock.ErrConnectionLost},
		"gateway":       {answered("502 Bad Gateway", html), interlock.ErrConnectionLost},
		"busy":          {answered("503 Unavailable", `{"error":"temporarily_unavailable"}`), interlock.ErrConnectionLost},
		"too many":      {answered("429 Too Many Requests", `{"error":"slow_down"}`), interlock.ErrConnectionLost},
		"proxy refuses": {answered("401 Unauthorized", html), interlock.ErrConnectionLost},
		"wrong secret":  {answered("401 Unauthorized", `{"error":"invalid_client"}`), api.CodeUnauthorized},
		"wrong grant":   {answered("400 Bad Request", `{"error":"unsupported_grant_type"}`), api.CodeUnauthorized},
		"wrong path of a server": {
			answered("401 Unauthorized", `{"status":401,"properties":{"errorCode":"UNAUTHORIZED"}}`), interlock.CodeInvalidOptions,
		},
		"wrong path": {answered("404 Not Found", html), interlock.CodeInvalidOptions},
	} {
		t.Run(name, func(t *testing.T) {
			url, _ := endpoint(t, test.answer, nil)
			_, err := (&interlock.ClientCredentials{URL: url}).Token(servertest.Context(t))
			var typed *interlock.Error
			if !errors.Is(err, test.code) || !errors.As(err, &typed) {
				t.Errorf("the failure is %v", err)
			}
		})
	}
	_, err := (&interlock.ClientCredentials{URL: "no url"}).Token(servertest.Context(t))
	if !errors.Is(err, interlock.CodeInvalidOptions) {
		t.Errorf("without a URL: %v", err)
	}
}

func TestALifetimeMayBeATextOrAbsent(t *testing.T) {
	text, err := os.ReadFile("../token-lifetimes.json")
	must(t, err)
	var table struct {
		Lifetimes []struct {
			ExpiresIn *string `json:"expiresIn"`
			Seconds   int     `json:"seconds"`
		} `json:"lifetimes"`
	}
	must(t, json.Unmarshal(text, &table))
	for _, row := range table.Lifetimes {
		body, expected := `{"access_token":"t"}`, int64(1)
		if row.ExpiresIn != nil {
			body = `{"access_token":"t","expires_in":` + *row.ExpiresIn + `}`
		}
		if row.Seconds == 0 { // it is not kept
			expected = 2
		}
		url, asked := endpoint(t, answered("200 OK", body), nil)
		credentials := &interlock.ClientCredentials{URL: url}
		for range 2 {
			token, err := credentials.Token(servertest.Context(t))
			if token != "t" || err != nil {
				t.Errorf("of %s the token is %q: %v", body, token, err)
			}
		}
		if asked.Load() != expected {
			t.Errorf("%s was asked for %d times", body, asked.Load())
		}
	}
}

func TestACallerWaitsForATokenAsLongAsItsContextAllows(t *testing.T) {
	gate := make(chan struct{})
	url, asked := endpoint(t, answered("200 OK", `{"access_token":"t","expires_in":60}`), gate)
	credentials := &interlock.ClientCredentials{URL: url}
	first, giveUp := context.WithCancel(servertest.Context(t))
	failed := make(chan error, 1)
	go func() {
		_, err := credentials.Token(first)
		failed <- err
	}()
	for asked.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	short, cancel := context.WithTimeout(servertest.Context(t), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := credentials.Token(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the failure is %v", err)
	}
	if waited := time.Since(began); waited > 5*time.Second {
		t.Errorf("it waited for %s", waited)
	}
	credentials.Forget("another") // does not wait either
	giveUp()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("the failure is %v", err)
	}
	var others sync.WaitGroup
	for range 10 {
		others.Add(1)
		go func() {
			defer others.Done()
			if token, err := credentials.Token(servertest.Context(t)); token != "t" || err != nil {
				t.Errorf("the token is %q, %v", token, err)
			}
		}()
	}
	close(gate)
	others.Wait()
	if asked.Load() != 1 {
		t.Errorf("%d requests were made", asked.Load())
	}
}

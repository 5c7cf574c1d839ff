package interlock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"interlock.internal/interlock"
	"interlock.internal/interlock/api"
	"interlock.internal/interlock/internal/servertest"
)

var parcel = interlock.Model{Name: "parcel", Version: 1}

// connect returns a client of a new tenant on the server.
func connect(t *testing.T, server *servertest.Server, options ...interlock.Option) *interlock.Client {
	t.Helper()
	client, err := interlock.New(server.Target, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if err := client.Connect(servertest.Context(t)); err != nil {
		t.Fatal(err)
	}
	return client
}

// makeParcels imports the model of parcels, and its workflow if there is one.
func makeParcels(t *testing.T, session interlock.Session, workflow string) {
	t.Helper()
	ctx := servertest.Context(t)
	sample := map[string]any{"sku": "A-1", "weight": 1.5, "price": 1.5, "note": "none"}
	must(t, session.ImportModel(ctx, parcel, sample))
	must(t, session.LockModel(ctx, parcel))
	if workflow != "" {
		must(t, session.ImportWorkflows(ctx, parcel, json.RawMessage(workflow)))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestADocumentKeepsItsDigits(t *testing.T) {
	server := servertest.Start(t, nil)
	client := connect(t, server, servertest.Tenant(t))
	ctx := servertest.Context(t)
	digits := "12345678901234567890.1234567890123456789"
	must(t, client.ImportModel(ctx, parcel, json.RawMessage(`{"sku":"A","weight":`+digits+`,"price":1.5}`)))
	must(t, client.LockModel(ctx, parcel))
	written, err := client.Create(ctx, parcel, json.RawMessage(`{"sku":"B<7>","weight":`+digits+`,"price":1.50}`))
	must(t, err)
	entity, err := client.Get(ctx, written.EntityID)
	must(t, err)
	if !strings.Contains(string(entity.Data), digits) || !strings.Contains(string(entity.Data), "1.50") {
		t.Errorf("the document is %s", entity.Data)
	}
	document := entity.Document()
	if document["weight"] != json.Number(digits) || document["sku"] != "B<7>" {
		t.Errorf("the document is %v", document)
	}
	written, err = client.Create(ctx, parcel, document)
	must(t, err)
	if entity, err = client.Get(ctx, written.EntityID); err != nil || entity.Document()["weight"] != json.Number(digits) {
		t.Errorf("the copy is %v, %v", entity, err)
	}
}

func TestFailuresHaveCodeClassAndRemedy(t *testing.T) {
	server := servertest.Start(t, nil)
	client := connect(t, server, servertest.Tenant(t))
	_, err := client.Get(servertest.Context(t), "00000000-0000-0000-0000-000000000000")
	var failure *interlock.Error
	if !errors.As(err, &failure) {
		t.Fatalf("%v is not an Error", err)
	}
	if failure.Code != api.CodeEntityNotFound || failure.Retryable || failure.Remedy() == "" {
		t.Errorf("the failure is %+v", failure)
	}
	if !errors.Is(err, interlock.ErrNotFound) || !errors.Is(err, api.CodeEntityNotFound) {
		t.Errorf("%v is not in its class", err)
	}
	if errors.Is(err, interlock.ErrConflict) || errors.Is(err, api.CodeConflict) {
		t.Errorf("%v is in another class", err)
	}
}

func TestManyRequestsRunSideBySide(t *testing.T) {
	server := servertest.Start(t, nil)
	client := connect(t, server, servertest.Tenant(t), interlock.WithInFlight(32))
	makeParcels(t, client.Session, "")
	ctx := servertest.Context(t)
	const count = 300
	failures := make(chan error, count)
	var group sync.WaitGroup
	for i := range count {
		group.Add(1)
		go func() {
			defer group.Done()
			_, err := client.Create(ctx, parcel, map[string]any{"sku": fmt.Sprint(i), "weight": i})
			failures <- err
		}()
	}
	group.Wait()
	close(failures)
	for err := range failures {
		must(t, err)
	}
	found := 0
	for _, err := range client.Search(ctx, everything()) {
		must(t, err)
		found++
	}
	listed := 0
	for _, err := range client.List(ctx, parcel) {
		must(t, err)
		listed++
	}
	if found != count || listed != count {
		t.Errorf("%d were found, %d listed", found, listed)
	}
}

func everything() *api.EntitySearchRequest {
	return &api.EntitySearchRequest{
		Model: parcel, Condition: api.Condition{Type: api.ConditionTypeGroup, Operator: api.ConditionOperatorAnd},
	}
}

func TestLeavingAStreamEarlyCancelsIt(t *testing.T) {
	server := servertest.Start(t, nil)
	client := connect(t, server, servertest.Tenant(t), interlock.WithInFlight(1))
	makeParcels(t, client.Session, "")
	ctx := servertest.Context(t)
	for i := range 20 {
		_, err := client.Create(ctx, parcel, map[string]any{"sku": fmt.Sprint(i)})
		must(t, err)
	}
	for range 5 {
		for _, err := range client.Search(ctx, everything()) {
			must(t, err)
			break
		}
	}
	// An answer that was left has no place on the stream, which has one.
	_, err := client.AccountGet(ctx, &api.AccountGetRequest{})
	must(t, err)
}

func TestARepeatUnderAKeyGetsTheFirstAnswer(t *testing.T) {
	server := servertest.Start(t, nil)
	client := connect(t, server, servertest.Tenant(t))
	makeParcels(t, client.Session, "")
	ctx := servertest.Context(t)
	key := interlock.WithIdempotencyKey("order-1")
	first, err := client.Create(ctx, parcel, map[string]any{"sku": "A"}, key)
	must(t, err)
	second, err := client.Create(ctx, parcel, map[string]any{"sku": "A"}, key)
	must(t, err)
	if first.EntityID != second.EntityID {
		t.Errorf("%s was created, and %s", first.EntityID, second.EntityID)
	}
	_, err = client.Create(ctx, parcel, map[string]any{"sku": "B"}, key)
	if !errors.Is(err, api.CodeIdempotencyConflict) {
		t.Errorf("another document under the key: %v", err)
	}
}

func TestAnEmptyKeyIsRefused(t *testing.T) {
	server := servertest.Start(t, nil)
	client := connect(t, server, servertest.Tenant(t))
	makeParcels(t, client.Session, "")
	_, err := client.Create(servertest.Context(t), parcel, map[string]any{"sku": "A"}, interlock.WithIdempotencyKey(""))
	if !errors.Is(err, api.CodeBadRequest) {
		t.Errorf("the failure is %v", err)
	}
}

// Pages found by their number would have moved by what was deleted.
func TestEverythingThatIsListedCanBeDeletedMeanwhile(t *testing.T) {
	server := servertest.Start(t, nil)
	client := connect(t, server, servertest.Tenant(t))
	makeParcels(t, client.Session, "")
	ctx := servertest.Context(t)
	const count = 1001 // two pages
	made := &api.EntityCreateCollectionRequest{DataFormat: api.DataFormatJSON}
	for range count {
		made.Payloads = append(made.Payloads, api.NewEntity{Model: parcel, Data: interlock.JSON(map[string]any{"sku": "A"})})
	}
	_, err := client.EntityCreateCollection(ctx, made)
	must(t, err)
	deleted := 0
	for entity, err := range client.List(ctx, parcel) {
		must(t, err)
		must(t, client.Delete(ctx, entity.ID))
		deleted++
	}
	if deleted != count {
		t.Errorf("%d of %d were listed and deleted", deleted, count)
	}
	for entity, err := range client.List(ctx, parcel) {
		t.Fatalf("there still is %v, %v", entity, err)
	}
}

func TestAServerThatDoesNotRunIsALostConnection(t *testing.T) {
	client, err := interlock.New("127.0.0.1:1", interlock.WithConnectTimeout(200*time.Millisecond))
	must(t, err)
	defer client.Close()
	_, err = client.Get(context.Background(), "x")
	if !errors.Is(err, interlock.ErrConnectionLost) || !errors.Is(err, interlock.ErrRetryable) {
		t.Errorf("the failure is %v", err)
	}
	if err := client.Connect(context.Background()); !errors.Is(err, interlock.ErrConnectionLost) {
		t.Errorf("the failure is %v", err)
	}
}

func TestAClientWorksAgainAfterARestart(t *testing.T) {
	server := servertest.Start(t, nil)
	client := connect(t, server, servertest.Tenant(t))
	ctx := servertest.Context(t)
	_, err := client.AccountGet(ctx, &api.AccountGetRequest{})
	must(t, err)
	server.Kill()
	server.Start()
	for {
		_, err = client.AccountGet(ctx, &api.AccountGetRequest{})
		if err == nil {
			return
		}
		if !errors.Is(err, interlock.ErrConnectionLost) {
			t.Fatal(err)
		}
	}
}

func TestAMessageThatIsTooLargeIsNotSent(t *testing.T) {
	server := servertest.Start(t, nil)
	client := connect(t, server, servertest.Tenant(t))
	makeParcels(t, client.Session, "")
	ctx := servertest.Context(t)
	_, err := client.Create(ctx, parcel, map[string]any{"sku": strings.Repeat("x", 17<<20)})
	if !errors.Is(err, interlock.CodeMessageTooLarge) || !errors.Is(err, interlock.ErrInvalidRequest) {
		t.Errorf("the failure is %.200v", err)
	}
	// The longest key is a part of the message, which is as large as its data otherwise may be.
	key := interlock.WithIdempotencyKey(strings.Repeat("\U0001F511", 255))
	almost := map[string]any{"sku": strings.Repeat("x", 16<<20-1230)}
	if _, err := client.Create(ctx, parcel, almost, key); !errors.Is(err, interlock.CodeMessageTooLarge) {
		t.Errorf("with a long key the failure is %.200v", err)
	}
	large := strings.Repeat("x", 1<<20)
	written, err := client.Create(ctx, parcel, map[string]any{"sku": large})
	must(t, err)
	entity, err := client.Get(ctx, written.EntityID)
	must(t, err)
	if entity.Document()["sku"] != large {
		t.Error("a document of 1 MB changed")
	}
}

func TestAURLIsNoTarget(t *testing.T) {
	for _, url := range []string{"http://localhost:9090", "https://example.com"} {
		if _, err := interlock.New(url); !errors.Is(err, interlock.CodeInvalidOptions) {
			t.Errorf("a client of %s: %v", url, err)
		}
		if _, err := interlock.NewMember(url); !errors.Is(err, interlock.CodeInvalidOptions) {
			t.Errorf("a member of %s: %v", url, err)
		}
	}
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	for _, target := range []string{"", "localhost", "localhost:", ":9090", "localhost:0", "localhost:99999", "::1:9090"} {
		if _, err := interlock.New(target); !errors.Is(err, interlock.CodeInvalidOptions) {
			t.Errorf("a client of %q: %v", target, err)
		}
	}
	for _, target := range []string{"localhost:9090", "[::1]:9090", "dns:///localhost:9090", "unix:/run/interlock"} {
		client, err := interlock.New(target)
		must(t, err)
		must(t, client.Close())
	}
	for _, option := range []interlock.Option{interlock.WithInFlight(0), interlock.WithConcurrency(0), interlock.WithConcurrency(-1)} {
		if _, err := interlock.NewMember("localhost:9090", option); !errors.Is(err, interlock.CodeInvalidOptions) {
			t.Errorf("a member without room: %v", err)
		}
	}
}

func TestAClientThatWasClosedSaysSo(t *testing.T) {
	server := servertest.Start(t, nil)
	client := connect(t, server, servertest.Tenant(t))
	must(t, client.Close())
	_, err := client.Get(servertest.Context(t), "x")
	if !errors.Is(err, interlock.CodeClientClosed) {
		t.Errorf("the failure is %v", err)
	}
}

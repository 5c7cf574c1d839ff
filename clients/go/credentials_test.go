package interlock_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"interlock.internal/interlock"
	"interlock.internal/interlock/api"
	"interlock.internal/interlock/internal/servertest"
)

func TestClientCredentialsObtainATokenAndReplaceARefusedOne(t *testing.T) {
	key, err := filepath.Abs("../../tests/keys/signing.pem")
	must(t, err)
	server := servertest.Start(t, map[string]string{
		"CYODA_IAM_MODE": "jwt", "INTERLOCK_IAM_MOCK_CALLER": "false", "CYODA_JWT_SIGNING_KEY_FILE": key,
		"CYODA_BOOTSTRAP_CLIENT_ID": "first", "CYODA_BOOTSTRAP_CLIENT_SECRET": "change-me",
		"CYODA_BOOTSTRAP_TENANT_ID": "6b1f0c3e-2a5d-4c7e-9b8a-0d1e2f3a4b5c",
	})
	credentials := &interlock.ClientCredentials{
		URL: server.HTTP + "/api/oauth/token", ClientID: "first", ClientSecret: "change-me",
	}
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

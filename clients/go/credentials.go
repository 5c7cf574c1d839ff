package interlock

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// ClientCredentials is a [TokenSource] that obtains tokens with the id and the secret of a
// client (the OAuth 2.0 client credentials grant). It keeps a token until shortly before it
// expires, and gets another one at once if the server refuses the one it has.
type ClientCredentials struct {
	// URL is the token endpoint, such as http://localhost:8080/api/oauth/token.
	URL          string
	ClientID     string
	ClientSecret string
	// HTTP is the client to use; without it, http.DefaultClient.
	HTTP *http.Client

	mu      sync.Mutex
	token   string
	expires time.Time
}

// Token returns a token that is valid for some time yet.
func (c *ClientCredentials) Token(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token != "" && time.Now().Before(c.expires) {
		return c.token, nil
	}
	token, lifetime, err := c.obtain(ctx)
	if err != nil {
		return "", err
	}
	// A tenth of its life is left for the way to the server, and for differences of clocks.
	c.token, c.expires = token, time.Now().Add(lifetime-lifetime/10)
	return token, nil
}

// Forget drops the token, because the server refused it.
func (c *ClientCredentials) Forget(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token == token {
		c.token = ""
	}
}

func (c *ClientCredentials) obtain(ctx context.Context) (string, time.Duration, error) {
	form := url.Values{"grant_type": {"client_credentials"}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, strings.NewReader(form.Encode()))
	if err != nil {
		return "", 0, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.SetBasicAuth(url.QueryEscape(c.ClientID), url.QueryEscape(c.ClientSecret))
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return "", 0, connectionLost("cannot obtain a token: %s", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return "", 0, connectionLost("cannot read the token: %s", err)
	}
	switch {
	case response.StatusCode >= 500 || response.StatusCode == http.StatusTooManyRequests:
		return "", 0, connectionLost("cannot obtain a token: %s", response.Status)
	case response.StatusCode != http.StatusOK:
		return "", 0, &Error{Code: "UNAUTHORIZED", Message: fmt.Sprintf("%s refuses the client: %s", c.URL, body)}
	}
	var granted struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int64  `json:"expires_in"`
	}
	if err := json.Unmarshal(body, &granted); err != nil || granted.AccessToken == "" {
		return "", 0, &Error{Code: "UNAUTHORIZED", Message: c.URL + " answers with no token; is it the token endpoint?"}
	}
	return granted.AccessToken, time.Duration(granted.ExpiresIn) * time.Second, nil
}

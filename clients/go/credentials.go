package interlock

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// tokenTimeout is how long a token endpoint may take to answer.
const tokenTimeout = 10 * time.Second

// refusals are the statuses with which an endpoint refuses a client for good.
var refusals = []int{http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden}

// ClientCredentials is a [TokenSource] that obtains tokens with the id and the secret of a
// client (the OAuth 2.0 client credentials grant). It keeps a token until shortly before it
// expires, and gets another one at once if the server refuses the one it has.
//
// An endpoint that cannot be reached, is interrupted, or answers with what is neither a token nor
// a refusal is an [ErrConnectionLost]: members try again, requests until their connect timeout.
// A refusal is UNAUTHORIZED. An address without an endpoint is [CodeInvalidOptions]: one that answers
// 404, or as a server does that asks for a token (401 with the code UNAUTHORIZED).
type ClientCredentials struct {
	// URL is the token endpoint, such as http://localhost:8080/api/oauth/token.
	URL          string
	ClientID     string
	ClientSecret string
	// HTTP is the client to use; without it, http.DefaultClient.
	HTTP *http.Client

	mu      sync.Mutex // never held during a request
	token   string
	expires time.Time
	asking  *tokenRequest // the one that is under way
}

// tokenRequest is a request for a token, for which any number of callers wait.
type tokenRequest struct {
	done  chan struct{} // closed when the others are written
	token string
	err   error
}

// Token returns a token that is valid for some time yet. Callers at the same time share one
// request, and each waits for it only as long as its own context allows.
func (c *ClientCredentials) Token(ctx context.Context) (string, error) {
	c.mu.Lock()
	if c.token != "" && time.Now().Before(c.expires) {
		defer c.mu.Unlock()
		return c.token, nil
	}
	if c.asking == nil {
		c.asking = &tokenRequest{done: make(chan struct{})}
		go c.ask(context.WithoutCancel(ctx), c.asking)
	}
	asking := c.asking
	c.mu.Unlock()
	select {
	case <-asking.done:
		return asking.token, asking.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// ask obtains a token for all who wait. It does not end with the context of one of them.
func (c *ClientCredentials) ask(ctx context.Context, asking *tokenRequest) {
	ctx, cancel := context.WithTimeout(ctx, tokenTimeout)
	defer cancel()
	token, lifetime, err := c.obtain(ctx)
	asking.token, asking.err = token, err
	c.mu.Lock()
	if err == nil {
		// A tenth of its life is left for the way to the server, and for differences of clocks.
		c.token, c.expires = token, time.Now().Add(lifetime-lifetime/10)
	}
	c.asking = nil
	c.mu.Unlock()
	close(asking.done)
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
	if err != nil || request.URL.Scheme == "" || request.URL.Host == "" {
		return "", 0, &Error{Code: CodeInvalidOptions, Message: fmt.Sprintf("%q is not the URL of a token endpoint", c.URL)}
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
	if response.StatusCode != http.StatusOK {
		return "", 0, c.refusal(response, body)
	}
	var granted struct {
		AccessToken string          `json:"access_token"`
		ExpiresIn   json.RawMessage `json:"expires_in"`
	}
	if err := json.Unmarshal(body, &granted); err != nil || granted.AccessToken == "" {
		// Proxies answer so for an endpoint that is being started.
		return "", 0, connectionLost("%s answers with no token; is it the token endpoint?", c.URL)
	}
	return granted.AccessToken, lifeOf(granted.ExpiresIn), nil
}

// tokenLife is how long a token is used whose endpoint does not say how long it may be.
const tokenLife = 5 * time.Minute

// lifeOf reads the lifetime of a token in seconds: a number, which some endpoints write as a text.
func lifeOf(expiresIn json.RawMessage) time.Duration {
	seconds, err := strconv.ParseFloat(strings.Trim(string(expiresIn), `"`), 64)
	if err != nil || !(seconds >= 0) {
		return tokenLife
	}
	return time.Duration(min(seconds, (24*time.Hour).Seconds()) * float64(time.Second))
}

// refusal says what an answer without a token means. Only what the endpoint itself says is final:
// anything else may come from a proxy, and pass.
func (c *ClientCredentials) refusal(response *http.Response, body []byte) error {
	var refused struct {
		Error      string `json:"error"`
		Properties struct {
			ErrorCode string `json:"errorCode"`
		} `json:"properties"`
	}
	isRead := json.Unmarshal(body, &refused) == nil
	isOAuth := isRead && refused.Error != ""
	// A server answers so whatever the path is, unless it is that of its token endpoint.
	isElsewhere := isRead && response.StatusCode == http.StatusUnauthorized && refused.Properties.ErrorCode == string(unauthorized)
	switch {
	case response.StatusCode == http.StatusNotFound || isElsewhere:
		message := c.URL + " answers " + response.Status + ": there is no token endpoint; check the URL"
		return &Error{Code: CodeInvalidOptions, Message: message}
	case isOAuth && slices.Contains(refusals, response.StatusCode):
		return &Error{Code: unauthorized, Message: fmt.Sprintf("%s refuses the client: %s", c.URL, bounded(string(body), 1<<10))}
	}
	return connectionLost("cannot obtain a token: %s answers %s", c.URL, response.Status)
}

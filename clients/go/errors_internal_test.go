package interlock

import (
	"errors"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"interlock.internal/interlock/api"
)

func TestAnAnswerThatFailsOnTheWayKeepsItsCode(t *testing.T) {
	for text, code := range map[string]api.Code{
		"STORAGE_UNAVAILABLE: retry":    api.CodeStorageUnavailable,
		"SEARCH_TIMEOUT: took too long": api.CodeSearchTimeout,
		"connection error: reset":       CodeConnectionLost,
		"":                              CodeConnectionLost,
	} {
		err := answerFailure(status.Error(codes.Unavailable, text))
		var failure *Error
		if !errors.As(err, &failure) || failure.Code != code || failure.Retryable != code.Retryable() {
			t.Errorf("%q is %#v", text, err)
		}
	}
}

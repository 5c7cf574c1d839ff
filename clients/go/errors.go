package interlock

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"interlock.internal/interlock/api"
)

// Codes of failures that this package finds itself. All others are in the package api.
const (
	// CodeConnectionLost means that there is no connection, or that it ended before the
	// answer arrived. The error is retryable if the request was certainly not sent.
	CodeConnectionLost api.Code = "CONNECTION_LOST"
	// CodeClientClosed means that the client or the member was closed.
	CodeClientClosed api.Code = "CLIENT_CLOSED"
	// CodeMessageTooLarge means that the server would not accept a message of this size.
	CodeMessageTooLarge api.Code = "MESSAGE_TOO_LARGE"
	// CodeAnswerNotRead means that the program did not read a streamed answer for too long
	// while others waited for the stream.
	CodeAnswerNotRead api.Code = "ANSWER_NOT_READ"
	// CodeServerNotUnderstood means that the server is of a version that this client does not
	// understand. Use the client of that version.
	CodeServerNotUnderstood api.Code = "SERVER_NOT_UNDERSTOOD"
	// CodeNotSupported means that a request cannot be made this way.
	CodeNotSupported api.Code = "NOT_SUPPORTED"
	// CodeInvalidOptions means that this client was set up wrongly, such as with an address at
	// which there is no token endpoint. Trying again does not help.
	CodeInvalidOptions api.Code = "INVALID_OPTIONS"
)

// Classes of failures, for errors.Is. Each stands for all codes with the same remedy.
var (
	// ErrNotFound: what the request names does not exist, or belongs to another tenant.
	ErrNotFound = errors.New("interlock: not found")
	// ErrConflict: another transaction committed first. Read again, then write again.
	ErrConflict = errors.New("interlock: conflict")
	// ErrInvalidRequest: the request itself is wrong. Correct it.
	ErrInvalidRequest = errors.New("interlock: invalid request")
	// ErrModelState: the model is not in the state that the request needs.
	ErrModelState = errors.New("interlock: wrong state of the model")
	// ErrComputeUnavailable: no member executed a call, and nothing was written. Retry.
	ErrComputeUnavailable = errors.New("interlock: no compute member answered")
	// ErrWorkflowFailed: a criterion, a processor or a limit rejected the transition.
	ErrWorkflowFailed = errors.New("interlock: the workflow rejected it")
	// ErrAccess: the caller is not authenticated, or not allowed to do this.
	ErrAccess = errors.New("interlock: no access")
	// ErrCancelled: the request was cancelled before it was done.
	ErrCancelled = errors.New("interlock: cancelled")
	// ErrLimit: there is too much of something; the property retryAfterMs says how long to wait.
	ErrLimit = errors.New("interlock: a limit is reached")
	// ErrConnectionLost: there is no connection, it ended before the answer, or the client
	// was closed.
	ErrConnectionLost = errors.New("interlock: connection lost")
	// ErrRetryable: the same request may succeed later.
	ErrRetryable = errors.New("interlock: retryable")
)

// classes are those of codes whose status does not say it; [class] knows the others.
var classes = map[api.Code]error{
	api.CodeConflict:                  ErrConflict,
	api.CodeEntityModified:            ErrConflict,
	api.CodeModelNotLocked:            ErrModelState,
	api.CodeModelAlreadyLocked:        ErrModelState,
	api.CodeModelAlreadyUnlocked:      ErrModelState,
	api.CodeModelHasEntities:          ErrModelState,
	api.CodeWorkflowFailed:            ErrWorkflowFailed,
	api.CodeNoComputeMemberForTag:     ErrComputeUnavailable,
	api.CodeComputeMemberDisconnected: ErrComputeUnavailable,
	api.CodeDispatchTimeout:           ErrComputeUnavailable,
	api.CodeDispatchForwardFailed:     ErrComputeUnavailable,
	api.CodeUnauthorized:              ErrAccess,
	api.CodeForbidden:                 ErrAccess,
	api.CodeCancelled:                 ErrCancelled,
	api.CodeTooManyRequests:           ErrLimit,
	api.CodeTenantLimitExceeded:       ErrLimit,
	api.CodeFeatureDisabled:           nil, // its status is that of what does not exist
	CodeConnectionLost:                ErrConnectionLost,
	CodeClientClosed:                  ErrConnectionLost,
	CodeMessageTooLarge:               ErrInvalidRequest,
}

// class returns the class of a code, nil if it has none.
func class(code api.Code) error {
	if found, isKnown := classes[code]; isKnown {
		return found
	}
	switch code.Status() {
	case 400, 413, 415, 422, 428:
		return ErrInvalidRequest
	}
	if strings.HasSuffix(string(code), "NOT_FOUND") { // codes of newer servers, too
		return ErrNotFound
	}
	return nil
}

// remedies are those of the codes of this package.
var remedies = map[api.Code]string{
	CodeConnectionLost:      "there is no connection, or it ended before the answer; it is retryable if the request was certainly not sent",
	CodeClientClosed:        "the client or the member was closed; make another one",
	CodeMessageTooLarge:     "the server would not accept a message of this size; send less",
	CodeAnswerNotRead:       "the program did not read a streamed answer within a transaction for too long while others waited for the stream; send no requests until it is read, or ask for less at once",
	CodeServerNotUnderstood: "the server is of a version that this client does not understand; use the client of that version",
	CodeNotSupported:        "a request cannot be made this way; use a client",
	CodeInvalidOptions:      "an address, a certificate, metadata or another setting of the client cannot be used; correct it",
}

// Error is a failed request.
//
// Use errors.As to read it, and errors.Is with a class ([ErrNotFound]) or a code
// (api.CodeEntityNotFound) to distinguish failures.
type Error struct {
	// Code names what went wrong.
	Code api.Code
	// Message says it in words, without the code.
	Message string
	// Retryable reports whether the same request may succeed later.
	Retryable bool
	// Properties are details for programs, as documented for the code.
	Properties map[string]json.RawMessage
	// Warnings are those of the server and of compute members before the failure.
	Warnings []string
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Remedy says what the code means and what to do about it. It is empty for an unknown code.
func (e *Error) Remedy() string {
	if own, isOwn := remedies[e.Code]; isOwn {
		return own
	}
	return e.Code.Meaning()
}

// Is reports whether target is the code of this error or the class of its code.
func (e *Error) Is(target error) bool {
	if target == ErrRetryable {
		return e.Retryable
	}
	if code, isCode := target.(api.Code); isCode {
		return e.Code == code
	}
	found := class(e.Code)
	return found != nil && found == target
}

func connectionLost(format string, arguments ...any) *Error {
	return &Error{Code: CodeConnectionLost, Message: fmt.Sprintf(format, arguments...)}
}

// asLost is what the end of an open stream means for the requests on it. If the server has revoked
// the token of the stream, that says nothing about the next stream, for which there may be another.
func asLost(failure error) error {
	var revoked *Error
	if !errors.As(failure, &revoked) || revoked.Code != unauthorized {
		return failure
	}
	return connectionLost("%s", revoked.Message)
}

// asUnsent marks the failure of a request that was certainly not sent.
func asUnsent(failure error) error {
	var lost *Error
	if !errors.As(asLost(failure), &lost) || lost.Code != CodeConnectionLost {
		return failure
	}
	return &Error{Code: CodeConnectionLost, Message: lost.Message + "; the request was not sent", Retryable: true}
}

// lasting are the ends of a stream that trying again does not change.
var lasting = map[codes.Code]api.Code{
	codes.Unauthenticated:  "UNAUTHORIZED",
	codes.PermissionDenied: "FORBIDDEN",
	codes.InvalidArgument:  "BAD_REQUEST",
	codes.Unimplemented:    "NOT_IMPLEMENTED",
}

// callFailure says what the end of a gRPC call means.
func callFailure(err error) error {
	ended := status.Convert(err)
	if code, isLasting := lasting[ended.Code()]; isLasting {
		return &Error{Code: code, Message: ended.Message()}
	}
	return connectionLost("%s: %s", ended.Code(), ended.Message())
}

// answerFailure returns what it means that a streamed answer has failed on the way. Then the status
// has the failure as its text; its code is the first word, as in any failure.
func answerFailure(err error) error {
	first, rest, _ := strings.Cut(status.Convert(err).Message(), ":")
	code := api.Code(first)
	if code.Status() == 0 {
		return callFailure(err)
	}
	return &Error{Code: code, Message: strings.TrimSpace(rest), Retryable: code.Retryable()}
}

// outcome is what all answers have.
type outcome struct {
	Success  *bool      `json:"success"`
	Error    *api.Error `json:"error"`
	Warnings []string   `json:"warnings"`
}

// failureIn returns the failure that an answer reports, else nil.
func failureIn(answer []byte) error {
	var read outcome
	if err := json.Unmarshal(answer, &read); err != nil {
		return fmt.Errorf("interlock: cannot read an answer: %w", err)
	}
	if read.Success == nil || *read.Success {
		return nil
	}
	failure := &Error{Code: "SERVER_ERROR", Message: "the server gave no reason", Warnings: read.Warnings}
	if read.Error == nil {
		return failure
	}
	failure.Code = api.Code(read.Error.Code)
	failure.Message = read.Error.Message
	if code, rest, found := strings.Cut(read.Error.Message, ":"); found && isCode(code) {
		failure.Code, failure.Message = api.Code(code), strings.TrimSpace(rest)
	}
	failure.Retryable = read.Error.Retryable != nil && *read.Error.Retryable
	failure.Properties = read.Error.Properties
	return failure
}

func isCode(text string) bool {
	for _, r := range text {
		if r != '_' && (r < 'A' || r > 'Z') && (r < '0' || r > '9') {
			return false
		}
	}
	return text != ""
}

// unauthorized is the code of a token that the server refuses.
const unauthorized = api.Code("UNAUTHORIZED")

package interlock

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
	// ErrInvalid: the request itself is wrong. Correct it.
	ErrInvalid = errors.New("interlock: invalid request")
	// ErrModelState: the model is not in the state that the request needs.
	ErrModelState = errors.New("interlock: wrong state of the model")
	// ErrComputeUnavailable: no member executed a call, and nothing was written. Retry.
	ErrComputeUnavailable = errors.New("interlock: no compute member answered")
	// ErrConnectionLost: there is no connection, or it ended before the answer.
	ErrConnectionLost = errors.New("interlock: connection lost")
	// ErrRetryable: the same request may succeed later.
	ErrRetryable = errors.New("interlock: retryable")
)

var classes = map[error][]api.Code{
	ErrConflict:           {api.CodeConflict, api.CodeEntityModified},
	ErrConnectionLost:     {CodeConnectionLost},
	ErrModelState:         {"MODEL_NOT_LOCKED", "MODEL_ALREADY_LOCKED", "MODEL_ALREADY_UNLOCKED", "MODEL_HAS_ENTITIES"},
	ErrComputeUnavailable: {"NO_COMPUTE_MEMBER_FOR_TAG", "COMPUTE_MEMBER_DISCONNECTED", "DISPATCH_TIMEOUT"},
	ErrInvalid: {
		"VALIDATION_FAILED", "BAD_REQUEST", "INCOMPATIBLE_TYPE", "INVALID_CONDITION", "CONDITION_TYPE_MISMATCH",
		"INVALID_FIELD_PATH", "SEARCH_RESULT_LIMIT", "UNKNOWN_EVENT_TYPE", CodeMessageTooLarge,
	},
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
func (e *Error) Remedy() string { return e.Code.Meaning() }

// Is reports whether target is the code of this error or the class of its code.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrNotFound:
		return e.Code == "NOT_FOUND" || strings.HasSuffix(string(e.Code), "_NOT_FOUND")
	case ErrRetryable:
		return e.Retryable
	}
	if code, isCode := target.(api.Code); isCode {
		return e.Code == code
	}
	return slices.Contains(classes[target], e.Code)
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

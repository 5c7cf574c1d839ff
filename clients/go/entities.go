package interlock

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"interlock.internal/interlock/api"
)

// Model is the name and the version of a model.
type Model = api.ModelSpec

// Entity is a stored document and the state that it is in.
type Entity struct {
	ID    string
	Model Model
	// State is that of its workflow.
	State string
	// Data is the document, as text.
	Data api.JSON
	// TransactionID is the transaction that wrote this version.
	TransactionID string
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// Decode reads the document into a value, as json.Unmarshal does. Numbers that go into values
// of the type any become json.Number, so that they keep their digits.
func (e *Entity) Decode(into any) error {
	if err := decodeExactly(e.Data, into); err != nil {
		return fmt.Errorf("interlock: cannot read the document of %s: %w", e.ID, err)
	}
	return nil
}

// Document returns the members of the document. Its numbers are json.Number.
func (e *Entity) Document() map[string]any {
	var members map[string]any
	// The server stores objects only, so this cannot fail for an entity that it sent.
	_ = decodeExactly(e.Data, &members)
	return members
}

func entityOf(payload *api.EntityPayload) *Entity {
	read := &Entity{Data: payload.Data}
	if meta := payload.Meta; meta != nil {
		read.ID, read.State, read.TransactionID = meta.ID, meta.State, meta.TransactionID
		read.Model = Model(meta.ModelKey)
		read.CreatedAt, read.UpdatedAt = meta.CreationDate, meta.LastUpdateTime
	}
	return read
}

// Written is what a write did.
type Written struct {
	// EntityID is that of the entity, the first one's of several.
	EntityID      string
	EntityIDs     []string
	TransactionID string
	// Warnings are those of the server and of compute members.
	Warnings []string
}

func writtenOf(answer *api.EntityTransactionResponse, err error) (*Written, error) {
	if err != nil {
		return nil, err
	}
	written := &Written{
		EntityIDs:     answer.TransactionInfo.EntityIDs,
		TransactionID: answer.TransactionInfo.TransactionID,
		Warnings:      answer.Warnings,
	}
	if len(written.EntityIDs) > 0 {
		written.EntityID = written.EntityIDs[0]
	}
	return written, nil
}

// Create stores a document, which is anything that json.Marshal turns into an object, and
// moves it through its workflow.
func (s Session) Create(ctx context.Context, model Model, document any, options ...api.CallOption) (*Written, error) {
	data, err := encode(document)
	if err != nil {
		return nil, fmt.Errorf("interlock: cannot encode the document: %w", err)
	}
	return writtenOf(s.EntityCreate(ctx, &api.EntityCreateRequest{
		DataFormat: api.DataFormatJSON,
		Payload:    api.NewEntity{Model: model, Data: data},
	}, options...))
}

// Update replaces the document of an entity, and takes a transition if one is named.
func (s Session) Update(ctx context.Context, entityID string, document any, transition string, options ...api.CallOption) (*Written, error) {
	data, err := encode(document)
	if err != nil {
		return nil, fmt.Errorf("interlock: cannot encode the document: %w", err)
	}
	return writtenOf(s.EntityUpdate(ctx, &api.EntityUpdateRequest{
		DataFormat: api.DataFormatJSON,
		Payload:    api.Change{EntityID: entityID, Data: data, Transition: transition},
	}, options...))
}

// Transition takes a transition of an entity and leaves the document to its processors.
func (s Session) Transition(ctx context.Context, entityID, transition string, options ...api.CallOption) error {
	_, err := s.EntityTransition(ctx, &api.EntityTransitionRequest{EntityID: entityID, Transition: transition}, options...)
	return err
}

// Delete deletes an entity. Its history stays.
func (s Session) Delete(ctx context.Context, entityID string, options ...api.CallOption) error {
	_, err := s.EntityDelete(ctx, &api.EntityDeleteRequest{EntityID: entityID}, options...)
	return err
}

// Get reads an entity.
func (s Session) Get(ctx context.Context, entityID string) (*Entity, error) {
	answer, err := s.EntityGet(ctx, &api.EntityGetRequest{EntityID: entityID})
	if err != nil {
		return nil, err
	}
	return entityOf(&answer.Payload), nil
}

// ImportModel makes a model from a sample document.
func (s Session) ImportModel(ctx context.Context, model Model, sample any) error {
	data, err := encode(sample)
	if err != nil {
		return fmt.Errorf("interlock: cannot encode the sample: %w", err)
	}
	_, err = s.EntityModelImport(ctx, &api.EntityModelImportRequest{
		Model: model, DataFormat: api.DataFormatJSON, Converter: "SAMPLE_DATA", Payload: data,
	})
	return err
}

// LockModel makes a model ready for entities.
func (s Session) LockModel(ctx context.Context, model Model) error {
	_, err := s.EntityModelTransition(ctx, &api.EntityModelTransitionRequest{Model: model, Transition: "LOCK"})
	return err
}

// ImportWorkflows replaces the workflows of a model. Each is anything that json.Marshal turns
// into the document of a workflow, such as the raw text of a file or an api.Workflow.
func (s Session) ImportWorkflows(ctx context.Context, model Model, workflows ...any) error {
	return s.Call(ctx, "EntityWorkflowImportRequest", map[string]any{
		"model": model, "importMode": "REPLACE", "workflows": workflows,
	}, nil)
}

// List reads all entities of a model, page by page, in the order of their ids. An entity that is
// there all the time is yielded once, whatever is written or deleted meanwhile.
func (s Session) List(ctx context.Context, model Model) iter.Seq2[*Entity, error] {
	return func(yield func(*Entity, error) bool) {
		const size = 1000
		for last, count := "", size; count == size; {
			count = 0
			for entity, err := range entities(s.EntitySearch(ctx, pageAfter(last, model, size))) {
				if !yield(entity, err) || err != nil {
					return
				}
				last, count = entity.ID, count+1
			}
		}
	}
}

// pageAfter asks for the entities whose ids come after one. Pages that were found by their number
// would move when an entity of an earlier one is deleted.
func pageAfter(last string, model Model, size int64) *api.EntitySearchRequest {
	return &api.EntitySearchRequest{
		Model: model,
		Condition: api.Condition{
			Type: api.ConditionTypeLifecycle, Field: api.ConditionFieldID,
			OperatorType: api.ConditionOperatorTypeGreaterThan, Value: JSON(last),
		},
		Limit: &size, LimitExceeded: api.LimitExceededTruncate,
		// In a transaction, it has seen what it lists.
		TrackingRead: api.Ptr(true),
	}
}

func entities(answers iter.Seq2[*api.EntityResponse, error]) iter.Seq2[*Entity, error] {
	return func(yield func(*Entity, error) bool) {
		for answer, err := range answers {
			var entity *Entity
			if err == nil {
				entity = entityOf(&answer.Payload)
			}
			if !yield(entity, err) || err != nil {
				return
			}
		}
	}
}

// JSON encodes a value for a request. It panics if the value has no JSON form, so it is for
// literals; encode other values with json.Marshal.
func JSON(value any) api.JSON {
	text, err := encode(value)
	if err != nil {
		panic(fmt.Sprintf("interlock.JSON: %s", err))
	}
	return json.RawMessage(text)
}

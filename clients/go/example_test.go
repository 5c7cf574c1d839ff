package interlock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"interlock.internal/interlock"
	"interlock.internal/interlock/api"
)

func Example() {
	ctx := context.Background()
	client, err := interlock.New("localhost:9090")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	parcel := interlock.Model{Name: "parcel", Version: 1}
	written, err := client.Create(ctx, parcel, map[string]any{"sku": "B-7", "weight": json.Number("0.250")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(written.EntityID)
}

func ExampleMember() {
	member, err := interlock.NewMember("localhost:9090", interlock.WithTags("pricing"))
	if err != nil {
		log.Fatal(err)
	}
	label := interlock.Model{Name: "label", Version: 1}
	member.Processor("price", func(ctx context.Context, call *interlock.Call) (any, error) {
		parcel := call.Document()
		if parcel["sku"] == "" {
			return nil, interlock.Reject("a parcel needs a sku")
		}
		// Committed with the transition, or not at all.
		if _, err := call.Tx.Create(ctx, label, map[string]any{"sku": parcel["sku"]}); err != nil {
			return nil, err
		}
		parcel["price"] = json.Number("4.50")
		return parcel, nil
	})
	member.Schedule("quote-lapses", func(context.Context, *interlock.Call) (interlock.Schedule, error) {
		return interlock.Schedule{FireAfter: 30 * 24 * time.Hour}, nil
	})
	if err := member.Run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func ExampleSession_Search() {
	client, err := interlock.New("localhost:9090")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	request := &api.EntitySearchRequest{
		Model: interlock.Model{Name: "parcel", Version: 1},
		Condition: api.Condition{
			Type: api.ConditionTypeSimple, JSONPath: "$.weight",
			OperatorType: api.ConditionOperatorTypeLessThan, Value: interlock.JSON(1),
		},
	}
	for entity, err := range client.Search(context.Background(), request) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(entity.ID, entity.State)
	}
}

func ExampleError() {
	client, err := interlock.New("localhost:9090")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	err = client.Transition(context.Background(), "01a1fe96-4e2d-742b-9fcf-a19c7918bf2a", "approve")
	var failure *interlock.Error
	switch {
	case errors.Is(err, interlock.ErrNotFound):
		fmt.Println("there is no such order, or no such transition")
	case errors.As(err, &failure) && failure.Retryable:
		fmt.Println("try again later:", failure.Message)
	}
}

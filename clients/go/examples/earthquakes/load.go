package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"interlock.internal/interlock"
	"interlock.internal/interlock/api"
)

// reviewFrom is the magnitude from which on automatic reports are confirmed; the others
// continue to wait.
const reviewFrom = 3

// loader loads the reports of a folder and prints what became of them.
type loader struct {
	interlock.Session
	folder string
	out    io.Writer
}

// load does everything that has not been done yet.
func (l *loader) load(ctx context.Context) error {
	for _, model := range []interlock.Model{alerts, reports} {
		if err := l.prepare(ctx, model); err != nil {
			return err
		}
	}
	if err := l.addMissing(ctx); err != nil {
		return err
	}
	if err := l.confirm(ctx); err != nil {
		return err
	}
	for _, model := range []interlock.Model{reports, alerts} {
		if err := l.show(ctx, model); err != nil {
			return err
		}
	}
	return nil
}

// prepare imports and locks a model, and imports its workflow, where that has not been done.
func (l *loader) prepare(ctx context.Context, model interlock.Model) error {
	sample, err := l.read("models/" + model.Name)
	if err != nil {
		return err
	}
	workflow, err := l.read("workflows/" + model.Name)
	if err != nil {
		return err
	}
	known, err := l.EntityModelGetAll(ctx, &api.EntityModelGetAllRequest{})
	if err != nil {
		return err
	}
	isKnown, isLocked := false, false
	for _, one := range known.Models {
		if one.Name == model.Name && one.Version == model.Version {
			isKnown, isLocked = true, one.State == api.ModelStateLocked
		}
	}
	if !isKnown {
		if err := l.ImportModel(ctx, model, sample); err != nil {
			return err
		}
		fmt.Fprintf(l.out, "model %s imported\n", model.Name)
	}
	if !isLocked {
		if err := l.LockModel(ctx, model); err != nil {
			return err
		}
	}
	_, err = l.EntityWorkflowExport(ctx, &api.EntityWorkflowExportRequest{Model: model})
	if errors.Is(err, api.CodeWorkflowNotFound) {
		fmt.Fprintf(l.out, "workflow of %s imported\n", model.Name)
		return l.ImportWorkflows(ctx, model, workflow)
	}
	return err
}

// addMissing creates the reports that are not there yet, side by side.
func (l *loader) addMissing(ctx context.Context) error {
	text, err := l.read("data/earthquakes")
	if err != nil {
		return err
	}
	var file struct {
		Features []json.RawMessage `json:"features"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return err
	}
	there := map[string]bool{}
	for entity, err := range l.List(ctx, reports) {
		if err != nil {
			return err
		}
		there[idOf(entity.Data)] = true
	}
	fmt.Fprintf(l.out, "%d reports in the file, %d of them are there already\n", len(file.Features), len(there))
	group, ctx := errgroup.WithContext(ctx)
	added := 0
	for _, feature := range file.Features {
		if there[idOf(feature)] {
			continue
		}
		added++
		group.Go(func() error {
			_, err := l.Create(ctx, reports, feature)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	fmt.Fprintf(l.out, "%d reports added\n", added)
	return nil
}

// confirm confirms the automatic reports that are worth a review.
func (l *loader) confirm(ctx context.Context) error {
	worthAReview := &api.EntitySearchRequest{
		Model: reports,
		Limit: api.Ptr(int64(10_000)),
		Condition: api.Condition{
			Type: api.ConditionTypeGroup, Operator: api.ConditionOperatorAnd,
			Conditions: []api.Condition{{
				Type: api.ConditionTypeLifecycle, Field: api.ConditionFieldState,
				OperatorType: api.ConditionOperatorTypeEquals, Value: interlock.JSON("AWAITING_REVIEW"),
			}, {
				Type: api.ConditionTypeSimple, JSONPath: "$.properties.mag",
				OperatorType: api.ConditionOperatorTypeGreaterOrEqual, Value: interlock.JSON(reviewFrom),
			}},
		},
	}
	group, groupContext := errgroup.WithContext(ctx)
	confirmed := 0
	for entity, err := range l.Search(ctx, worthAReview) {
		if err != nil {
			return errors.Join(err, group.Wait())
		}
		confirmed++
		group.Go(func() error { return l.Transition(groupContext, entity.ID, "confirm") })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	fmt.Fprintf(l.out, "%d automatic reports from magnitude %d on confirmed\n", confirmed, reviewFrom)
	return nil
}

// show prints how many entities are in which state.
func (l *loader) show(ctx context.Context, model interlock.Model) error {
	var counts []*api.EntityStatsByStateResponse
	together := int64(0)
	for count, err := range l.EntityStatsByStateGet(ctx, &api.EntityStatsByStateGetRequest{Model: &model}) {
		if err != nil {
			return err
		}
		counts = append(counts, count)
		together += count.Count
	}
	slices.SortStableFunc(counts, func(a, b *api.EntityStatsByStateResponse) int { return int(b.Count - a.Count) })
	fmt.Fprintf(l.out, "\n%-20s entities\n", model.Name)
	for _, count := range counts {
		fmt.Fprintf(l.out, "  %-18s %8d\n", count.State, count.Count)
	}
	fmt.Fprintf(l.out, "  %-18s %8d\n", "together", together)
	return nil
}

// read reads one of the JSON files of the example.
func (l *loader) read(name string) (json.RawMessage, error) {
	return os.ReadFile(filepath.Join(l.folder, filepath.FromSlash(name)+".json"))
}

// idOf returns the id that a report has in its document.
func idOf(document json.RawMessage) string {
	var read struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(document, &read) // a document without an id is a new one
	return read.ID
}

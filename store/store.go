// Package store keeps the logs in a SQL database.
package store

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"gateway/model"
)

// Objects reads what the object store holds.
type Objects interface {
	Open(ctx context.Context, key string) (model.Kept, error)
}

// Config says which database to open, and how.
type Config struct {
	// Database is "" for the SQLite file gateway.db in Dir, or
	// "mysql://user:pass@host:3306/name".
	Database  string
	Dir       string // the data directory
	Objects   Objects
	Limits    model.Limits
	Now       func() time.Time // nil: time.Now
	Log       *slog.Logger     // nil: nothing is logged
	Renderers []string         // names whose positions count for Backlog, Due and Committed.Waiting
	Fault     func(step string) error
}

// Store keeps the logs.
type Store struct{}

var _ model.Log = (*Store)(nil)

var errSkeleton = errors.New("store: not written yet")

// CommitOptions go with a commit.
type CommitOptions struct {
	Hold    string // take the publishing lease for this holder when it is free
	HoldFor time.Duration
}

// Committed is what a commit did.
type Committed struct {
	Outcomes []model.Outcome // parallel to the batch
	Held     bool            // the lease that was asked for is held
	Waiting  int             // cut segments not yet published by the slowest renderer
	Head     model.Position
}

// Problem is a damage that Check found.
type Problem struct {
	Set   string // its name; "" for the store as a whole
	Where string // "change 17", "segment 3", "document /rs/…"
	What  string
}

func Open(ctx context.Context, c Config) (*Store, error)        { return nil, errSkeleton }
func (s *Store) Close() error                                   { return errSkeleton }
func (s *Store) DatabaseID(ctx context.Context) (string, error) { return "", errSkeleton }
func (s *Store) Ready(ctx context.Context) error                { return errSkeleton }
func (s *Store) BaseURL(ctx context.Context) (string, error)    { return "", errSkeleton }
func (s *Store) BaseURLOrigin(ctx context.Context) (url string, explicit bool, err error) {
	return "", false, errSkeleton
}
func (s *Store) SetBaseURL(ctx context.Context, url string, explicit bool) error { return errSkeleton }

func (s *Store) CreateSet(ctx context.Context, set model.Set) (model.Set, error) {
	return model.Set{}, errSkeleton
}
func (s *Store) UpdateSet(ctx context.Context, name string, change func(*model.Set) error) (model.Set, error) {
	return model.Set{}, errSkeleton
}
func (s *Store) Set(ctx context.Context, name string) (model.Set, error) {
	return model.Set{}, errSkeleton
}
func (s *Store) Views(ctx context.Context, after string, limit int) ([]model.View, error) {
	return nil, errSkeleton
}
func (s *Store) View(ctx context.Context, set, renderer string) (model.View, error) {
	return model.View{}, errSkeleton
}

func (s *Store) Commit(ctx context.Context, set model.SetID, batch []model.Incoming, o CommitOptions) (Committed, error) {
	return Committed{}, errSkeleton
}
func (s *Store) Seal(ctx context.Context, set model.SetID) (bool, error) { return false, errSkeleton }
func (s *Store) ReserveObject(ctx context.Context, set model.SetID, key string, d time.Duration) error {
	return errSkeleton
}

func (s *Store) Changes(ctx context.Context, set model.SetID, after, last model.Position) iter.Seq2[*model.Change, error] {
	return func(yield func(*model.Change, error) bool) { yield(nil, errSkeleton) }
}
func (s *Store) States(ctx context.Context, set model.SetID, at model.Position, after model.RecordNumber) iter.Seq2[*model.Change, error] {
	return func(yield func(*model.Change, error) bool) { yield(nil, errSkeleton) }
}
func (s *Store) Segments(ctx context.Context, set model.SetID, after model.SegmentNumber, limit int) ([]model.Segment, error) {
	return nil, errSkeleton
}
func (s *Store) Segment(ctx context.Context, set model.SetID, n model.SegmentNumber) (model.Segment, error) {
	return model.Segment{}, errSkeleton
}
func (s *Store) Record(ctx context.Context, set model.SetID, number model.RecordNumber) (*model.Change, error) {
	return nil, errSkeleton
}
func (s *Store) RecordByIdentifier(ctx context.Context, set model.SetID, identifier string) (*model.Change, error) {
	return nil, errSkeleton
}
func (s *Store) OpenContent(ctx context.Context, set model.SetID, key model.ContentKey) (model.Kept, error) {
	return nil, errSkeleton
}
func (s *Store) OpenObject(ctx context.Context, key string) (model.Kept, error) {
	return nil, errSkeleton
}

func (s *Store) Due(ctx context.Context, limit int) ([]model.SetID, error) { return nil, errSkeleton }
func (s *Store) Backlog(ctx context.Context, set model.SetID) (model.Backlog, error) {
	return model.Backlog{}, errSkeleton
}
func (s *Store) Lease(ctx context.Context, set model.SetID, holder string, d time.Duration) (bool, error) {
	return false, errSkeleton
}
func (s *Store) Release(ctx context.Context, set model.SetID, holder string) error {
	return errSkeleton
}
func (s *Store) Publish(ctx context.Context, p model.Publication) error { return errSkeleton }
func (s *Store) Document(ctx context.Context, set model.SetID, path string) (model.Document, error) {
	return model.Document{}, errSkeleton
}
func (s *Store) OpenEpoch(ctx context.Context, set model.SetID, reason, baseURL string) (model.Epoch, error) {
	return model.Epoch{}, errSkeleton
}
func (s *Store) Unreferenced(ctx context.Context, keys []string) ([]string, error) {
	return nil, errSkeleton
}
func (s *Store) Check(ctx context.Context, report func(Problem)) error { return errSkeleton }

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"gateway/atompmh"
	"gateway/model"
	"gateway/publish"
	"gateway/resourcesync"
	"gateway/store"
)

// storeFlags say which store a command works on.
type storeFlags struct {
	Data     string `default:"./gateway-data" placeholder:"DIR" help:"Directory of the embedded database and of the published objects (default ./gateway-data)." group:"Store"`
	Database string `placeholder:"URL" help:"Keep the log in MySQL, MariaDB or what speaks their protocol, instead of the embedded database: mysql://user:password@host:3306/name." group:"Store"`
}

// opened is a store with the objects and the publisher that go with it.
type opened struct {
	*store.Store
	objects   *folder
	publisher *publish.Publisher
	name      string // for people, without a password
}

// folder is the object store, which is opened after the database because it
// must know whose it is, and which the database reads from.
type folder struct{ *publish.Folder }

// embedded is the file of the embedded database in the data directory.
const embedded = "gateway.db"

// newStore is a store that is not open yet.
func newStore() *opened { return &opened{objects: &folder{}} }

// open opens the store. Unless create says so, one that is not there is an error
// and stays absent.
func (f *storeFlags) open(c *call, create bool) (*opened, error) {
	st := newStore()
	return st, st.open(c, f, create)
}

func (o *opened) open(c *call, f *storeFlags, create bool) error {
	dir, err := filepath.Abs(f.Data)
	if err != nil {
		return err
	}
	if o.name, err = f.storeName(dir); err != nil {
		return err
	}
	if f.Database == "" && !create {
		if _, err := os.Stat(filepath.Join(dir, embedded)); errors.Is(err, fs.ErrNotExist) {
			return usagef("there is no store in %s; `gateway import` or `gateway serve` makes one, and --data names another directory", dir)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return usageError{fmt.Errorf("make data directory: %w", err)}
	}
	o.Store, err = store.Open(c.ctx, store.Config{
		Database: f.Database, Dir: dir, Objects: o.objects, Log: c.log, Renderers: rendererNames(),
	})
	if err != nil {
		return usageError{fmt.Errorf("open store %s: %w", o.name, err)}
	}
	if err := o.openObjects(c, filepath.Join(dir, "objects")); err != nil {
		return errors.Join(err, o.Close())
	}
	return nil
}

func (o *opened) openObjects(c *call, dir string) error {
	id, err := o.DatabaseID(c.ctx)
	if err != nil {
		return err
	}
	known, err := o.ObjectStore(c.ctx)
	if err != nil {
		return err
	}
	if o.objects.Folder, err = publish.OpenFolder(dir, id, known); err != nil {
		return usageError{fmt.Errorf("open object store %s: %w", dir, err)}
	}
	if known == "" {
		if err := o.ClaimObjectStore(c.ctx, o.objects.ID()); err != nil {
			return usageError{fmt.Errorf("make %s the database's object store: %w", dir, err)}
		}
	}
	o.publisher = publish.New(o.Store, o.objects, publish.Config{
		Renderers: renderers(), Snapshots: []publish.SnapshotRenderer{resourcesync.NewRenderer(model.Limits{})}, Log: c.log,
	})
	return nil
}

// Ready tells whether the database can be written and what changes is published.
func (o *opened) Ready(ctx context.Context) error {
	return errors.Join(o.Store.Ready(ctx), o.publisher.Health())
}

// renderers are the protocols that publish from the log.
func renderers() []publish.Renderer {
	return []publish.Renderer{atompmh.Renderer{}, resourcesync.NewRenderer(model.Limits{})}
}

func rendererNames() []string {
	var names []string
	for _, r := range renderers() {
		names = append(names, r.Name())
	}
	return names
}

// storeName is how the store is called where people read it: the data directory,
// or the database's URL without its password.
func (f *storeFlags) storeName(dir string) (string, error) {
	if f.Database == "" {
		return dir, nil
	}
	u, err := url.Parse(f.Database)
	// The parser's error quotes the URL, and with it the password.
	if err != nil || u.Scheme != "mysql" || u.Host == "" || strings.Trim(u.Path, "/") == "" {
		return "", usagef("--database is no mysql://user:password@host:port/name")
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	u.RawQuery = ""
	return u.String(), nil
}

// sets yields all sets by name.
func (o *opened) sets(ctx context.Context) iter.Seq2[*model.View, error] {
	const page = 500
	return func(yield func(*model.View, error) bool) {
		for after := ""; ; {
			views, err := o.Views(ctx, after, page)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range views {
				if !yield(&views[i], nil) {
					return
				}
				after = views[i].Set.Name
			}
			if len(views) < page {
				return
			}
		}
	}
}

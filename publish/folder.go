package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"gateway/model"
)

// Folder keeps objects as files below one directory. A file appears under its
// name only after its bytes and the name itself are on disk.
type Folder struct {
	dir string
}

const (
	claimFile = "store-id" // names the database that the folder belongs to
	newDir    = "new"      // files on their way in
)

// OpenFolder opens, or makes, the folder dir as the object store of the database
// called id. A folder that belongs to another database is refused: its objects
// would be taken for garbage.
func OpenFolder(dir, id string) (*Folder, error) {
	f := &Folder{dir: dir}
	if err := os.MkdirAll(filepath.Join(dir, newDir), 0o755); err != nil {
		return nil, fmt.Errorf("make object folder: %w", err)
	}
	claim := filepath.Join(dir, claimFile)
	switch owner, err := os.ReadFile(claim); {
	case errors.Is(err, fs.ErrNotExist):
		if err := f.place(strings.NewReader(id+"\n"), claim); err != nil && !errors.Is(err, model.ErrExists) {
			return nil, fmt.Errorf("claim object folder: %w", err)
		}
		return OpenFolder(dir, id)
	case err != nil:
		return nil, fmt.Errorf("open object folder: %w", err)
	case strings.TrimSpace(string(owner)) != id:
		return nil, fmt.Errorf("object folder %s belongs to another database (its id is %s, the database's is %s): use the folder and the database of one store together",
			dir, strings.TrimSpace(string(owner)), id)
	}
	return f, nil
}

// Create implements [Objects].
func (f *Folder) Create(_ context.Context, key string, r io.Reader) (int64, error) {
	path, err := f.path(key)
	if err != nil {
		return 0, err
	}
	counted := &countingReader{r: r}
	if err := f.place(counted, path); err != nil {
		return 0, fmt.Errorf("create object %s: %w", key, err)
	}
	return counted.n, nil
}

// place writes r to a new file and gives it its name when it is whole: data
// first, then the name, then the directory that holds the name.
func (f *Folder) place(r io.Reader, path string) error {
	file, err := os.CreateTemp(filepath.Join(f.dir, newDir), "object-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if _, err := io.Copy(file, r); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := makeDir(dir); err != nil {
		return err
	}
	// Link, not Rename: a name that is taken stays as it is.
	if err := os.Link(file.Name(), path); errors.Is(err, fs.ErrExist) {
		return model.ErrExists
	} else if err != nil {
		return err
	}
	return syncDir(dir)
}

// makeDir makes dir and what is missing above it, and makes the names durable.
func makeDir(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	parent := filepath.Dir(dir)
	if err := makeDir(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Open implements [Objects]. What it returns has a method File, so that the
// kernel can copy the object to a connection.
func (f *Folder) Open(_ context.Context, key string) (model.Kept, error) {
	path, err := f.path(key)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("object %s: %w", key, model.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("open object %s: %w", key, err)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("open object %s: %w", key, err)
	}
	return &keptFile{file: file, size: info.Size()}, nil
}

// keptFile is an open object.
type keptFile struct {
	file *os.File
	size int64
}

func (k *keptFile) Size() int64                             { return k.size }
func (k *keptFile) ReadAt(p []byte, off int64) (int, error) { return k.file.ReadAt(p, off) }
func (k *keptFile) Close() error                            { return k.file.Close() }

// File is the file that the object is, from offset on. It is open for one reader
// only, who may move its position.
func (k *keptFile) File() (f *os.File, offset int64) { return k.file, 0 }

// Delete implements [Objects].
func (f *Folder) Delete(_ context.Context, key string) error {
	path, err := f.path(key)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete object %s: %w", key, err)
	}
	return nil
}

// List implements [Objects].
func (f *Folder) List(ctx context.Context) iter.Seq2[ObjectInfo, error] {
	return func(yield func(ObjectInfo, error) bool) {
		err := filepath.WalkDir(f.dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil {
				err = ctx.Err()
			}
			if err != nil || d.IsDir() || path == filepath.Join(f.dir, claimFile) {
				return err
			}
			info, err := d.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(f.dir, path)
			if err != nil {
				return err
			}
			if !yield(ObjectInfo{Key: filepath.ToSlash(rel), Size: info.Size(), Created: info.ModTime()}, nil) {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			yield(ObjectInfo{}, fmt.Errorf("list objects: %w", err))
		}
	}
}

// path is where the object of a key is. Keys come from rows of the database, so
// a broken one must not lead out of the folder.
func (f *Folder) path(key string) (string, error) {
	if key == "" || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789-/") != "" || !filepath.IsLocal(key) {
		return "", fmt.Errorf("object key %q is malformed", key)
	}
	return filepath.Join(f.dir, filepath.FromSlash(key)), nil
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

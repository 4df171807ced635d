package publish

import (
	"context"
	"crypto/rand"
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
	id  string
}

const (
	claimFile = "store-id" // the id of the database that the folder belongs to, and its own
	newDir    = "new"      // files on their way in
)

// OpenFolder opens the folder dir as the object store of the database called
// database, or makes it. known is the ID of the folder that the database
// remembers, "" for none yet. A folder that belongs to another database is
// refused: its objects would be taken for garbage. So is any but the known one:
// in an empty folder, what is published would be missing.
func OpenFolder(dir, database, known string) (*Folder, error) {
	f := &Folder{dir: dir}
	claim, err := os.ReadFile(filepath.Join(dir, claimFile))
	if errors.Is(err, fs.ErrNotExist) {
		if known != "" {
			return nil, fmt.Errorf("object folder %s is new or empty, and this database has its objects in another one: use the folder and the database of one store together, or restore both", dir)
		}
		if err := f.claim(database); err != nil {
			return nil, err
		}
		return OpenFolder(dir, database, known)
	}
	if err != nil {
		return nil, fmt.Errorf("open object folder: %w", err)
	}
	lines := strings.Fields(string(claim))
	if len(lines) != 2 {
		return nil, fmt.Errorf("object folder %s: file %s is damaged", dir, claimFile)
	}
	f.id = lines[1]
	if lines[0] != database || known != "" && f.id != known {
		return nil, fmt.Errorf("object folder %s belongs to another store (to database %s, this one is %s): use the folder and the database of one store together",
			dir, lines[0], database)
	}
	return f, nil
}

// claim makes the folder that of a database; of two who try, one does.
func (f *Folder) claim(database string) error {
	if err := os.MkdirAll(filepath.Join(f.dir, newDir), 0o755); err != nil {
		return fmt.Errorf("make object folder: %w", err)
	}
	err := f.place(strings.NewReader(database+"\n"+rand.Text()+"\n"), filepath.Join(f.dir, claimFile))
	if err != nil && !errors.Is(err, model.ErrExists) {
		return fmt.Errorf("claim object folder: %w", err)
	}
	return nil
}

// ID is random and as old as the folder.
func (f *Folder) ID() string { return f.id }

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

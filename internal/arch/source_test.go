package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// source is one package as its files say, test files left out.
type source struct {
	path  string // below the module
	name  string
	files map[string]*ast.File // by file name
	fset  *token.FileSet
}

// load parses every package below root.
func load(t *testing.T, root string) []*source {
	t.Helper()
	byDir := map[string]*source{}
	fset := token.NewFileSet()
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); file != root && (name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(fset, file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(rel)
		p := byDir[dir]
		if p == nil {
			p = &source{path: dir, name: f.Name.Name, files: map[string]*ast.File{}, fset: fset}
			byDir[dir] = p
		}
		p.files[d.Name()] = f
		return nil
	})
	if err != nil {
		t.Fatalf("read the packages below %s: %v", root, err)
	}
	return slices.SortedFunc(maps.Values(byDir), func(a, b *source) int { return strings.Compare(a.path, b.path) })
}

// each calls f for the files of p in the order of their names.
func (p *source) each(f func(name string, file *ast.File)) {
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		f(path.Join(p.path, name), p.files[name])
	}
}

// imports are the import paths of p, each once, with a file that has it.
func (p *source) imports() map[string]string {
	found := map[string]string{}
	p.each(func(name string, file *ast.File) {
		for _, spec := range file.Imports {
			if s, err := strconv.Unquote(spec.Path.Value); err == nil && found[s] == "" {
				found[s] = name
			}
		}
	})
	return found
}

// under is the longest key of rules that is p or a folder above it.
func under[V any](rules map[string]V, p string) (key string, ok bool) {
	for p != "." && p != "/" && p != "" {
		if _, ok := rules[p]; ok {
			return p, true
		}
		p = path.Dir(p)
	}
	return "", false
}

func covers(allowed []string, p string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool {
		return a == "*" || a == p || strings.HasPrefix(p, a+"/")
	})
}

func isForTests(p string) bool { return strings.HasSuffix(p, "test") || covers(forTests, p) }

// checkImports compares the imports of p with the picture.
func checkImports(module string, p *source) (complaints []string) {
	rule, ok := under(arrows, p.path)
	if !ok {
		return []string{fmt.Sprintf("%s: is not in the picture of packages", p.path)}
	}
	helps := isForTests(p.path)
	for imported, file := range p.imports() {
		if inner, ok := strings.CutPrefix(imported, module+"/"); ok {
			if isForTests(inner) && !helps {
				complaints = append(complaints, fmt.Sprintf("%s: imports %s, which is for tests", file, inner))
			}
			if !covers(arrows[rule], inner) && !covers([]string{rule}, inner) {
				complaints = append(complaints, fmt.Sprintf("%s: %s may not import %s", file, rule, inner))
			}
			continue
		}
		if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
			continue // the standard library
		}
		if slices.Contains(onlyStandard, p.path) {
			complaints = append(complaints, fmt.Sprintf("%s: %s imports %s; it is to need the standard library only", file, p.path, imported))
		}
		if key, ok := under(outside, imported); ok && !helps && !covers(outside[key], p.path) {
			complaints = append(complaints, fmt.Sprintf("%s: %s may not import %s", file, p.path, imported))
		}
	}
	return complaints
}

// checkComment wants one package comment of the usual form.
func checkComment(p *source) (complaints []string) {
	var with []string
	p.each(func(name string, file *ast.File) {
		if file.Doc == nil {
			return
		}
		with = append(with, name)
		want := "Package " + p.name + " "
		if p.name == "main" {
			want = "Command " + path.Base(p.path) + " "
		}
		if !strings.HasPrefix(file.Doc.Text(), want) {
			complaints = append(complaints, fmt.Sprintf("%s: the package comment does not begin with %q", name, want))
		}
	})
	if len(with) != 1 {
		complaints = append(complaints, fmt.Sprintf("%s: has %d package comments, want one", p.path, len(with)))
	}
	return complaints
}

// checkState finds init functions, package-level variables that start without a
// value or change later, and os.Exit outside main.go.
func checkState(p *source) (complaints []string) {
	report := func(pos token.Pos, format string, args ...any) {
		at := p.fset.Position(pos)
		complaints = append(complaints, fmt.Sprintf("%s:%d: %s", path.Join(p.path, filepath.Base(at.Filename)), at.Line, fmt.Sprintf(format, args...)))
	}
	// Without the imported packages type checking fails, but it still resolves
	// the names that this package declares, which is all that is asked here.
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: nothing{}, Error: func(error) {}}
	pkg, _ := config.Check(p.path, p.fset, slices.Collect(maps.Values(p.files)), &info)
	changes := func(x ast.Expr, how string) {
		id := root(x)
		if v, ok := info.Uses[id].(*types.Var); ok && v.Parent() == pkg.Scope() {
			report(id.Pos(), "the package-level variable %s is %s", id.Name, how)
		}
	}
	p.each(func(name string, file *ast.File) {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.Name == "init" {
					report(d.Pos(), "has an init function")
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if v, ok := s.(*ast.ValueSpec); ok && d.Tok == token.VAR && len(v.Values) == 0 && !embedded(d, v) && !pooled(v) {
						report(v.Pos(), "the package-level variable %s starts without a value", v.Names[0].Name)
					}
				}
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, x := range n.Lhs {
					changes(x, "assigned")
				}
			case *ast.IncDecStmt:
				changes(n.X, "assigned")
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					changes(n.X, "passed by address")
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "os" && n.Sel.Name == "Exit" && name != "cmd/gateway/main.go" {
					report(n.Pos(), "calls os.Exit outside cmd/gateway/main.go")
				}
			}
			return true
		})
	})
	return complaints
}

// root is the variable at the left end of x, such as a in a.b[c].d.
func root(x ast.Expr) *ast.Ident {
	for {
		switch y := x.(type) {
		case *ast.Ident:
			return y
		case *ast.SelectorExpr:
			x = y.X
		case *ast.IndexExpr:
			x = y.X
		case *ast.StarExpr:
			x = y.X
		case *ast.ParenExpr:
			x = y.X
		default:
			return nil
		}
	}
}

// embedded tells that the compiler fills v from a file.
func embedded(d *ast.GenDecl, v *ast.ValueSpec) bool {
	for _, doc := range []*ast.CommentGroup{d.Doc, v.Doc} {
		if doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") }) {
			return true
		}
	}
	return false
}

// pooled tells that v is a sync.Pool: what is in it never matters.
func pooled(v *ast.ValueSpec) bool {
	s, ok := v.Type.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Pool"
}

// nothing imports no package.
type nothing struct{}

func (nothing) Import(p string) (*types.Package, error) { return nil, os.ErrNotExist }

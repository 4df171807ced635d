package arch

// arrows says which of the module's packages a package may import, by the path
// below the module. A rule covers the packages below it too, and these and the
// rule's own package may import each other. Packages that are not in the table
// may not exist.
var arrows = map[string][]string{
	"cmd/gateway": {"*"}, // wiring

	// Protocols: they see records only through model, never the database.
	"atompmh":      {"model", "internal/httpx", "internal/xmlpull"},
	"resourcesync": {"model", "sitemap", "dump", "internal/httpx", "internal/xmlpull"},
	"wellknown":    {"model", "sitemap", "resourcesync", "internal/httpx"},
	"resource":     {"model", "internal/httpx"},
	"dump":         {"model", "sitemap"},
	"sitemap":      {"internal/xmlpull"},

	// The way in and out of the log.
	"ingest":  {"model", "internal/xmlpull"},
	"publish": {"model"},
	"store":   {"model"},
	"model":   {},

	"internal/httpx":   {"model"},
	"internal/xmlpull": {},
	"internal/config":  {},
	"internal/arch":    {},
	"internal/fold":    {}, // rebuilds a set's state like a stranger would, so it knows no package of ours
}

// forTests are the packages that only tests may import, besides all whose names
// end in "test".
var forTests = []string{"internal/fold"}

// outside says which packages alone may import a foreign module; rules cover
// packages below. Modules that are not in the table are free, but for the
// packages in onlyStandard.
var outside = map[string][]string{
	"gorm.io":                             {"store"},
	"github.com/glebarez":                 {"store"},
	"github.com/go-sql-driver/mysql":      {"store"},
	"github.com/gin-gonic/gin":            {"cmd/gateway", "internal/httpx", "atompmh", "resourcesync", "wellknown", "resource"},
	"github.com/alecthomas/kong":          {"cmd/gateway"},
	"github.com/schollz/progressbar":      {"cmd/gateway"},
	"gopkg.in/yaml.v3":                    {"cmd/gateway", "internal/config"},
	"github.com/elnormous/contenttype":    {"resource", "internal/httpx"},
	"github.com/klauspost/compress":       {"store", "ingest", "publish", "dump", "resource", "internal/httpx"},
	"github.com/google/go-cmp":            nil, // tests
	"github.com/rogpeppe/go-internal":     nil,
	"go.uber.org/goleak":                  nil,
	"pgregory.net/rapid":                  nil,
	"github.com/google/uuid":              {"store"},
	"golang.org/x/sync":                   {"store", "ingest", "publish", "cmd/gateway"},
	"golang.org/x/term":                   {"cmd/gateway"},
	"github.com/mattn/go-isatty":          {"cmd/gateway"},
	"modernc.org":                         {"store"},
	"github.com/prometheus/client_golang": {"cmd/gateway", "internal/httpx"},
}

// onlyStandard are the packages that import the standard library only, besides
// what arrows gives them.
var onlyStandard = []string{"model", "sitemap", "internal/xmlpull", "internal/arch", "internal/fold"}

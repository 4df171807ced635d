package httpx

import (
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
)

// loggedBytes is how much of a text that a client chose goes into the log.
const loggedBytes = 1024

// logAccess writes a line per request, also of one that is aborted. It holds no
// header but the user agent, and no value of a query parameter that could be a
// secret.
func logAccess(log *slog.Logger, now func() time.Time) gin.HandlerFunc {
	return func(c *gin.Context) {
		began, completed := now(), false
		path, query := c.Request.URL.Path, c.Request.URL.RawQuery
		defer func() {
			attrs := []slog.Attr{
				slog.String("method", cut(c.Request.Method)),
				slog.String("path", cut(path)),
				slog.Int("status", c.Writer.Status()),
				slog.Int("bytes", max(c.Writer.Size(), 0)),
				slog.Duration("duration", now().Sub(began)),
				slog.String("remote", host(c.Request.RemoteAddr)),
				slog.String("agent", cut(c.Request.UserAgent())),
			}
			if query != "" {
				attrs = append(attrs, slog.String("query", cut(redact(query))))
			}
			if !completed {
				attrs = append(attrs, slog.Bool("aborted", true))
			}
			log.LogAttrs(c.Request.Context(), slog.LevelInfo, "request", attrs...)
		}()
		c.Next()
		completed = true
	}
}

func host(remote string) string {
	if h, _, err := net.SplitHostPort(remote); err == nil {
		return h
	}
	return remote
}

func cut(s string) string {
	if len(s) > loggedBytes {
		return strings.ToValidUTF8(s[:loggedBytes], "") + "…"
	}
	return s
}

// redact replaces the values of parameters whose name could mean a secret. What
// is not a list of parameters is a value without a name, and could be one too.
func redact(query string) string {
	var b strings.Builder
	for query != "" {
		pair, separator := query, ""
		if i := strings.IndexAny(query, "&;"); i >= 0 {
			pair, separator = query[:i], query[i:i+1]
		}
		query = query[len(pair)+len(separator):]
		name, value, named := strings.Cut(pair, "=")
		plain, err := url.QueryUnescape(name)
		switch {
		case !named && len(name) > 16:
			name = "…"
		case named && (err != nil || secret(plain)):
			value = "…"
		}
		b.WriteString(name)
		if named {
			b.WriteString("=" + value)
		}
		b.WriteString(separator)
	}
	return b.String()
}

// secret tells whether a parameter's name could mean a secret. It errs on the
// side of hiding.
func secret(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"token", "pass", "secret", "auth", "key", "sig", "credential", "session", "code", "jwt", "pwd"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

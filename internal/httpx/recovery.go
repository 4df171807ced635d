package httpx

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/gin-gonic/gin"
)

// recovery turns a panic into a problem, with the stack in the log only. When
// the answer has begun, or the panic is http.ErrAbortHandler, it goes on to
// net/http, which breaks the connection: a client must not take what it has for
// the whole.
func recovery(c *gin.Context) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if v == http.ErrAbortHandler {
			panic(v)
		}
		around(c).log.LogAttrs(c.Request.Context(), slog.LevelError, "handler panicked",
			slog.String("method", c.Request.Method), slog.String("path", c.Request.URL.Path),
			slog.String("panic", fmt.Sprint(v)), slog.String("stack", string(debug.Stack())))
		if c.Writer.Written() {
			panic(http.ErrAbortHandler)
		}
		answer(c, problem(ProblemInternal))
	}()
	c.Next()
}

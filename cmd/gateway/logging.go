package main

import (
	"io"
	"log/slog"
)

// loggingFlag says how the program's own log looks. It goes to standard error.
type loggingFlag struct {
	LogLevel  string `enum:"debug,info,warn,error" default:"info" placeholder:"LEVEL" help:"Least level that is logged: debug, info, warn or error."`
	LogFormat string `enum:"text,json" default:"text" placeholder:"FORMAT" help:"Form of the log: text or json."`
}

func (f *loggingFlag) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.LogLevel)); err != nil {
		level = slog.LevelInfo // kong has checked it
	}
	return slog.New(f.handler(w, level))
}

func (f *loggingFlag) handler(w io.Writer, level slog.Level) slog.Handler {
	options := &slog.HandlerOptions{Level: level}
	if f.LogFormat == "json" {
		return slog.NewJSONHandler(w, options)
	}
	return slog.NewTextHandler(w, options)
}

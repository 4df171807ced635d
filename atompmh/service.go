package atompmh

import (
	"context"
	"fmt"

	"gateway/model"
)

// ServiceMediaType is the Content-Type of the service document (RFC 5023 §8).
const ServiceMediaType = "application/atomsvc+xml"

// sets is the part of a Source that the service document is made of.
type sets interface {
	Views(ctx context.Context, after string, limit int) ([]model.View, error)
}

// viewsPage is how many sets are read at a time.
const viewsPage = 500

const (
	serviceStart = declaration +
		`<service xmlns="http://www.w3.org/2007/app" xmlns:atom="http://www.w3.org/2005/Atom">` + "\n" +
		"  <workspace>\n    <atom:title>Sets</atom:title>\n"
	serviceEnd = "  </workspace>\n</service>\n"
)

// AppendService appends the AtomPub service document to b: a collection for each
// public set, by name, which takes no posts (RFC 5023 §8.3.4). It is the only
// document that leads to the complete feeds, those that there are. changed is
// when something in it changed last, 0 without sets.
func AppendService(ctx context.Context, b []byte, from sets) (_ []byte, changed model.Time, err error) {
	b = append(b, serviceStart...)
	after := ""
	for {
		views, err := from.Views(ctx, after, viewsPage)
		if err != nil {
			return b, 0, fmt.Errorf("read the sets after %q: %w", after, err)
		}
		for i := range views {
			b = appendCollection(b, &views[i])
			changed = max(changed, described(&views[i]), views[i].Head.Changed)
			after = views[i].Set.Name
		}
		if len(views) < viewsPage {
			return append(b, serviceEnd...), changed, nil
		}
	}
}

func appendCollection(b []byte, v *model.View) []byte {
	at := placeOf(v)
	b = append(b, `    <collection href="`...)
	b = append(b, at.base...)
	b = append(b, SubscriptionPath(at.set)...)
	b = appendElement(b, "\">\n      <atom:title>", v.Set.DisplayTitle(), "</atom:title>\n      <accept/>\n")
	if offersComplete(v) {
		b = append(b, `      <atom:link rel="related" href="`...)
		b = append(b, at.base...)
		b = append(b, CompletePath(at.set)...)
		b = append(b, `" type="`+MediaType+`" title="Complete feed"/>`+"\n"...)
	}
	return append(b, "    </collection>\n"...)
}

// offersComplete tells whether the set has few enough records for a complete
// feed at its head.
func offersComplete(v *model.View) bool {
	limit := v.Set.Policy.CompleteLimit
	return limit > 0 && v.Head.Records <= int64(limit)
}

package sitemaptest_test

import (
	"strings"
	"testing"

	"gateway/sitemap/sitemaptest"
)

const good = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:ln rel="up" href="https://example.org/capabilitylist.xml"/>
<rs:md capability="resourcelist" at="2026-03-03T08:00:00Z"/>
<url><loc>https://example.org/1</loc><lastmod>2026-03-03T08:00:00.5Z</lastmod><changefreq>never</changefreq>` +
	`<rs:md hash="md5:313c7d726c4cc2bb6f1f2cc1f78d4a02" length="0"/><rs:ln rel="duplicate" href="https://example.net/1" pri="1"/></url>
</urlset>
`

// TestRules breaks a good document in one place at a time: each rule must see
// it, and none the good one.
func TestRules(t *testing.T) {
	sitemaptest.Check(t, []byte(good))
	for _, test := range []struct{ rule, old, new string }{
		{"RS-DOC-01", `sitemap/0.9"`, `sitemap/0.84"`},
		{"RS-DOC-01", "urlset", "urls"},
		{"RS-DOC-01", ` encoding="UTF-8"`, ""},
		{"RS-DOC-01", "url>", "sitemap>"},
		{"RS-DOC-02", `<rs:md capability="resourcelist" at="2026-03-03T08:00:00Z"/>`, ""},
		{"RS-DOC-02", "<rs:ln rel", `<rs:md capability="resourcelist"/><rs:ln rel`},
		{"RS-DOC-03", `"resourcelist"`, `"resource-list"`},
		{"RS-DOC-04", ` hash=`, ` rs:hash=`},
		{"RS-DOC-05", "<loc>https://example.org/1</loc>", "<loc>/1</loc>"},
		{"RS-DOC-05", "<loc>https://example.org/1</loc>", ""},
		{"RS-DOC-05", "</loc>", strings.Repeat("1", 2048) + "</loc>"},
		{"RS-DOC-06", "<rs:md hash", `<rs:md length="1"/><rs:md hash`},
		{"RS-DOC-06", ` href="https://example.org/capabilitylist.xml"`, ""},
		{"RS-DOC-06", `rel="up" `, ""},
		{"RS-DOC-07", "</urlset>", strings.Repeat("<url><loc>https://example.org/2</loc></url>", 50_000) + "</urlset>"},
		{"RS-DOC-08", `at="2026-03-03T08:00:00Z"`, `at="2026-03-03"`},
		{"RS-DOC-08", "08:00:00.5Z", "08:00:00+02:00"},
		{"RS-DOC-09", "</urlset>", `<rs:ln rel="up" href="https://example.org/"/></urlset>`},
		{"RS-DOC-09", "</url>", "<changefreq>never</changefreq></url>"},
		{"RS-DOC-11", "never", "nightly"},
		{"RS-DOC-14", "md5:31", "md5:"},
		{"RS-DOC-14", "md5:31", "md4:31"},
		{"RS-DOC-14", `length="0"`, `length="-1"`},
		{"RS-DOC-15", `pri="1"`, `pri="0"`},
		{"RS-DOC-15", `pri="1"`, `pri="1000000"`},
		{"RS-DOC-16", `"up"`, `"upwards"`},
	} {
		t.Run(test.rule+" "+test.new[:min(30, len(test.new))], func(t *testing.T) {
			b := []byte(strings.ReplaceAll(good, test.old, test.new))
			d, err := sitemaptest.Parse(b)
			if err != nil {
				t.Fatal(err)
			}
			for _, rule := range sitemaptest.Rules() {
				if strings.HasPrefix(rule.Name, test.rule+" ") {
					if rule.Broken(d, b) == nil {
						t.Errorf("%s does not see it", rule.Name)
					}
					return
				}
			}
			t.Errorf("no rule %s", test.rule)
		})
	}
}

func TestParse(t *testing.T) {
	for name, b := range map[string]string{
		"nothing": "", "text after": good + "x", "two roots": good + "<a/>", "cut off": good[:len(good)-5],
	} {
		if _, err := sitemaptest.Parse([]byte(b)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

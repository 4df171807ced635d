// Package atompmh looks behind the curtain.
package atompmh

import (
	_ "gateway/model/modeltest"
	_ "gateway/store"

	_ "gorm.io/gorm"
)

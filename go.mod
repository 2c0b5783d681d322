module github.com/yuuki/hostping

go 1.26.0

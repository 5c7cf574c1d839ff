# The systems that the sagas call. The values of env() are given when the bundle is applied.
connector "api" {
  type = "rest"
}
connector "store" {
  type     = "database"
  driver   = "postgres"
  host     = env("POSTGRES_HOST")
  port     = env("POSTGRES_PORT")
  database = env("POSTGRES_DATABASE")
  user     = env("POSTGRES_USER")
  password = env("POSTGRES_PASSWORD")
}
connector "payments" {
  type     = "http"
  base_url = env("PAYMENTS_URL")
  timeout  = "2m"
  auth {
    type  = "bearer"
    token = env("PAYMENTS_TOKEN")
  }
  # A request is repeated under the same Idempotency-Key, until the server is there again.
  retry {
    attempts = 30
  }
}
connector "mail" {
  type = "email"
  host = "127.0.0.1"
  port = env("MAIL_PORT")
  tls  = "none"
  from = "Film shop <shop@films.example>"
}

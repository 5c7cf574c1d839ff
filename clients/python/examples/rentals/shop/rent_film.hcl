# A film is reserved, paid for, shipped after a while, and returned.
saga "rent_film" {
  timeout = "1d"
  from {
    connector = "api"
    operation = "POST /rentals"
  }
  step "reserve" {
    # The table does not allow less than 0: the step fails if no copy is left.
    action {
      connector = "store"
      operation = "UPDATE"
      target    = "film_shop.films"
      set       = { available = "available - input.copies" }
      where     = { id = "input.film" }
    }
    compensate {
      connector = "store"
      operation = "UPDATE"
      target    = "film_shop.films"
      set       = { available = "available + input.copies" }
      where     = { id = "input.film" }
    }
  }
  step "book" {
    action {
      connector = "store"
      operation = "INSERT"
      target    = "film_shop.rentals"
      data      = { film = "input.film", customer = "input.customer", status = "booked" }
    }
    compensate {
      connector = "store"
      operation = "UPDATE"
      target    = "film_shop.rentals"
      set       = { status = "undone" }
      where     = { id = "step.book.id" }
    }
  }
  step "charge" {
    action {
      connector = "payments"
      operation = "POST /charges"
      body      = { card = "input.card", amount = "step.reserve.price", rental = "step.book.id" }
    }
    compensate {
      connector = "payments"
      operation = "POST /refunds"
      body      = { charge = "step.charge.id" }
    }
  }
  step "ship" {
    delay = "2s"
    action {
      connector = "store"
      operation = "UPDATE"
      target    = "film_shop.rentals"
      set       = { status = "shipped" }
      where     = { id = "step.book.id" }
    }
  }
  step "notify" {
    action {
      connector = "mail"
      operation = "send"
      template  = "shipped"
      data      = { to = "input.email", customer = "input.customer", title = "step.reserve.title" }
    }
  }
  step "return" {
    await = "returned"
    action {
      connector = "store"
      operation = "UPDATE"
      target    = "film_shop.rentals"
      set       = { status = "returned" }
      where     = { id = "step.book.id" }
    }
  }
  step "restock" {
    action {
      connector = "store"
      operation = "UPDATE"
      target    = "film_shop.films"
      set       = { available = "available + input.copies" }
      where     = { id = "input.film" }
    }
  }
  on_complete {
    connector = "mail"
    operation = "send"
    template  = "receipt"
    data = {
      to       = "input.email",
      customer = "input.customer",
      title    = "step.reserve.title",
      amount   = "step.reserve.price"
    }
  }
  on_failure {
    connector = "mail"
    operation = "send"
    template  = "sorry"
    data      = { to = "input.email", customer = "input.customer", reason = "error.message" }
  }
}

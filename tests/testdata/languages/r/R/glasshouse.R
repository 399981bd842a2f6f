#!/usr/bin/env Rscript
#' @import methods
NULL

suppressPackageStartupMessages({
  library(dplyr, warn.conflicts = FALSE)
  library(shiny)
})
if (!requireNamespace("ggplot2", quietly = TRUE)) stop("ggplot2 is needed")
box::use(stats[lm, predict])
source("R/sensors.R", local = TRUE)
source(here::here("R", "beds.R"))

globalVariables(c("bed", "humidity"))

.onLoad <- function(libname, pkgname) {
  op <- options()
  defaults <- list(glasshouse.unit = "C", glasshouse.beds = 4L)
  options(defaults[!(names(defaults) %in% names(op))])
  invisible()
}

MAX_BEDS <- 12L
pi2 = pi / 2
"quoted name" <- function(x) x
`my var` <- 3
assign("dynamic", 1)
a <- b <- 0
names(a) <- "first"
a[["x"]] <- function() NULL

#' Vapour pressure deficit
#'
#' @description How dry the air is for a leaf.
#'
#' @param temperature In degrees Celsius; `function(x) x` is no definition here.
#' @inheritParams humidity
#' @return kPa.
#' @examples
#' vpd(20, 0.5)
#' @export
vpd <- function(temperature,
                humidity = c("low", "high"),
                ...,
                .unit = getOption("glasshouse.unit"))
{
  humidity <- match.arg(humidity)
  saturated <- function(t) {
    0.6108 * exp(17.27 * t / (t + 237.3))
  }
  inner_value <- saturated(temperature)
  sapply(humidity, function(h) inner_value * (1 - h))
}

# Replacement functions and operators.
`bed<-` <- function(x, value) {
  x$bed <- value
  x
}
`[.reading` <- function(x, i) structure(unclass(x)[i], class = "reading")
`$.reading` <- function(x, name) x[[name]]
`+.reading` = function(e1, e2) e1
`%between%` <- function(x, range) x >= range[1] & x <= range[2]
format.reading <- \(x, digits = 2, ...) paste0(round(unclass(x), digits), "%")

compose <- function(...) {
  steps <- list(...)
  function(x) Reduce(function(value, step) step(value), steps, x)
}

memoised <- memoise::memoise(function(day) slow_lookup(day))
half <- purrr::partial(`/`, e2 = 2)

counter <- local({
  count <- 0
  function() {
    count <<- count + 1
    count
  }
})

summarise_beds <- function(data) {
  data |>
    group_by(bed) |>
    summarise(
      mean = mean(humidity, na.rm = TRUE),
      n = n(),
      .groups = "drop"
    ) %>%
    mutate(dry = mean < 0.4)
}

repeat_until <- function(condition, action) while (!condition()) action()

text <- 'fake <- function(x) { "not code" }'
raw <- r"---(other_fake <- function() 1)---"

# S4 and reference classes.
setClass("Bed",
  representation = representation("VIRTUAL", name = "character")
)
Raised <- setClass("Raised", contains = "Bed", slots = list(height = "numeric"), prototype = list(height = 0.4))
setClassUnion("BedOrNull", c("Bed", "NULL"))

setGeneric("water", function(bed, litres, ...) {
  standardGeneric("water")
})
setGeneric("height<-", function(x, value) standardGeneric("height<-"))

setMethod("water", signature(bed = "Raised", litres = "numeric"), function(bed, litres, ...) {
  drained <- litres * 0.1
  litres - drained
})
setMethod("+", signature("Raised", "Raised"), function(e1, e2) e1)
setReplaceMethod("height", "Raised", function(x, value) {
  x@height <- value
  x
})
setMethod("initialize", "Bed", function(.Object, ...) callNextMethod(.Object, ...))

Valve <- setRefClass(
  "Valve",
  contains = "Actuator",
  fields = list(
    open = "logical",
    history = function(value) {
      if (missing(value)) .history else .history <<- value
    }
  ),
  methods = list(
    toggle = function() {
      "Opens a closed valve."
      open <<- !open
      invisible(.self)
    }
  )
)
Valve$methods(close = function() open <<- FALSE)

Climate <- R6Class(
  classname = "Climate",
  public = list(
    #' @field target What is wanted.
    target = 21,
    zones = NULL,
    #' @description Starts the climate.
    initialize = function(target = 21, zones) {
      self$target <- target
      self$zones <- zones
    },
    step = function(minutes = 1) {
      for (zone in self$zones) private$heat(zone, minutes)
      invisible(self)
    },
    print = function(...) cat("<Climate>\n")
  ),
  active = list(
    error = function(value) {
      if (missing(value)) self$target - private$now else stop("read only")
    }
  ),
  private = list(
    now = 0,
    heat = function(zone, minutes) private$now <- private$now + minutes,
    finalize = function() message("bye")
  ),
  lock_objects = FALSE
)

Span <- S7::new_class("Span", properties = list(start = S7::class_double, end = S7::class_double))
S7::method(length, Span) <- function(x) x@end - x@start

ui <- fluidPage(
  titlePanel("Glasshouse"),
  sliderInput("beds", "Beds", min = 1, max = MAX_BEDS, value = 4)
)

server <- function(input, output, session) {
  readings <- reactive({
    filter(all_readings(), bed <= input$beds)
  })
  output$plot <- renderPlot({
    plot(readings()$humidity)
  })
  observeEvent(input$reset, {
    session$reload()
  })
  helper <- function(id) NS(id)("plot")
}

if (sys.nframe() == 0L) {
  options <- commandArgs(trailingOnly = TRUE)
  run <- function() shinyApp(ui, server)
  run()
} else {
  message("sourced")
}

test_that("dry air has a larger deficit", {
  make <- function(h) vpd(20, h)
  expect_gt(make(0.2), make(0.8))
})

describe("Climate", {
  it("steps", {
    expect_s3_class(Climate$new(20, list())$step(), "Climate")
  })
  it("prints without 'quotes'", expect_output(print(Climate$new(1, 2)), "<Climate>"))
})

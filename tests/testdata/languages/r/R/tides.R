# Predicts tides from the constituents of a harbour and compares them with a gauge.

library(stats)
library("R6")
require(jsonlite)
source("harbours.R")
source(file.path("R", "plots.R"))

# Hours of a lunar day.
LUNAR_DAY <- 24.84
EPOCH <- as.POSIXct("2000-01-01", tz = "UTC")
default_step = 600
.cache <- new.env(parent = emptyenv())
`%||%` <- function(a, b) if (is.null(a)) b else a

constituents <- data.frame(
  name = c("M2", "S2", "K1", "O1"),
  speed = c(28.984, 30.0, 15.041, 13.943),
  stringsAsFactors = FALSE
)

#' Height of the tide
#'
#' Adds the constituents of a harbour at the given times.
#'
#' @param harbour A list with `amplitude` and `phase`.
#' @param times Times, any length.
#' @return Metres above chart datum.
#' @export
tide_height <- function(harbour, times, datum = 0) {
  hours <- as.numeric(difftime(times, EPOCH, units = "hours"))
  one <- function(i) {
    angle <- constituents$speed[i] * hours - harbour$phase[i]
    harbour$amplitude[i] * cos(to_radians(angle))
  }
  parts <- vapply(seq_along(harbour$amplitude), one, numeric(length(hours)))
  datum + rowSums(matrix(parts, nrow = length(hours)))
}

#' @title Turns degrees into radians
to_radians <- function(degrees) degrees * pi / 180

# The times at which the height turns.
turning_points = function(heights, times) {
  change <- sign(diff(heights))
  turns <- which(diff(change) != 0) + 1
  data.frame(
    time = times[turns],
    height = heights[turns],
    is_high = change[turns - 1] > 0
  )
}

next_high_water <- function(harbour, from, ...) {
  times <- seq(from, by = default_step, length.out = 6 * 24)
  points <- turning_points(tide_height(harbour, times, ...), times)
  highs <- points[points$is_high, ]
  if (nrow(highs) == 0) {
    warning("no high water within a day of ", format(from))
    return(NULL)
  }
  highs$time[1]
}

square <- \(x) x^2

rms_error <- function(gauge, predicted) {
  sqrt(mean(square(gauge - predicted), na.rm = TRUE))
}

0.05 -> accepted_error

read_gauge <- function(path, tz = "UTC") {
  raw <- readLines(path, warn = FALSE)
  raw <- raw[!startsWith(raw, "#")]
  if (is.null(.cache[[path]])) {
    parse_row <- function(row) {
      cells <- strsplit(row, ";", fixed = TRUE)[[1]]
      list(time = as.POSIXct(cells[1], tz = tz), height = as.numeric(cells[2]))
    }
    .cache[[path]] <<- lapply(raw, parse_row)
  }
  .cache[[path]]
}

# Methods of generic functions.

print.harbour <- function(x, ...) {
  cat(sprintf("<harbour %s, %d constituents>\n", x$name, length(x$amplitude)))
  invisible(x)
}

summary.harbour <- function(object, days = 7, ...) {
  times <- seq(Sys.time(), by = default_step, length.out = days * 144)
  heights <- tide_height(object, times)
  structure(list(low = min(heights), high = max(heights)), class = "summary.harbour")
}

new_harbour <- function(name, amplitude, phase) {
  stopifnot(length(amplitude) == length(phase))
  structure(
    list(name = name, amplitude = amplitude, phase = phase),
    class = "harbour"
  )
}

# Keeps the gauge readings of a harbour.
Gauge <- R6::R6Class("Gauge",
  inherit = Sensor,
  public = list(
    harbour = NULL,
    readings = list(),

    # Starts without readings.
    initialize = function(harbour, interval = default_step) {
      self$harbour <- harbour
      private$interval <- interval
    },
    add = function(time, height) {
      self$readings[[length(self$readings) + 1]] <- list(time = time, height = height)
      invisible(self)
    },
    error = function() {
      times <- do.call(c, lapply(self$readings, `[[`, "time"))
      heights <- vapply(self$readings, function(r) r$height, numeric(1))
      rms_error(heights, tide_height(self$harbour, times))
    }
  ),
  active = list(
    size = function() length(self$readings)
  ),
  private = list(
    interval = 600,
    is_due = function(now) {
      last <- self$readings[[self$size]]$time
      now - last >= private$interval
    }
  )
)

Buoy <- setRefClass("Buoy",
  fields = list(id = "character", position = "numeric"),
  methods = list(
    drift = function(dx, dy) {
      position <<- position + c(dx, dy)
    },
    show = function() cat("buoy", id, "\n")
  )
)

# Classes of S4.

setClass("Station", representation(name = "character", gauges = "list"))

setClass("TidalStation",
  contains = "Station",
  slots = c(datum = "numeric")
)

setGeneric("level", function(station, at) standardGeneric("level"))

setMethod("level", "TidalStation", function(station, at) {
  heights <- lapply(station@gauges, function(gauge) tide_height(gauge$harbour, at))
  station@datum + mean(unlist(heights))
})

setMethod(
  f = "show",
  signature = "Station",
  definition = function(object) cat("station", object@name, "\n")
)

setValidity("Station", function(object) {
  if (length(object@gauges) == 0) "a station needs a gauge" else TRUE
})

if (interactive()) {
  demo_harbour <- new_harbour("demo", c(1.2, 0.4), c(10, 40))
  draw_demo <- function() {
    plot_tide(demo_harbour)
  }
}

local({
  registered <- TRUE
  on_load <- function() message("tides: 'loaded' # not a comment")
})

quoted <- r"(tide_height(no, "use") )"

main <- function(args = commandArgs(trailingOnly = TRUE)) {
  harbour <- harbours[[args[1] %||% "demo"]]
  for (point in split_days(Sys.Date(), 3)) {
    cat(format(next_high_water(harbour, point)), sep = "\n")
  }
  jsonlite::toJSON(summary(harbour))
}

describe("turning points", {
  it("alternate", {
    points <- turning_points(c(0, 1, 0, 1, 0), 1:5)
    expect_equal(points$is_high, c(TRUE, FALSE, TRUE))
  })
})

test_that("a harbour without constituents is flat", {
  flat <- new_harbour("flat", 0, 0)
  expect_equal(tide_height(flat, EPOCH), 0)
})

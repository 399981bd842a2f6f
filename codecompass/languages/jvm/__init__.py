"""Java, Kotlin, Scala and Groovy."""

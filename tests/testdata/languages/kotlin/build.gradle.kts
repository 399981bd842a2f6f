plugins {
    kotlin("jvm") version "2.0"
}

val ktorVersion = "3.0"

tasks {
    val sources by registering(Jar::class) {
        archiveClassifier.set("sources")
    }
}

fun Project.isRelease(): Boolean = !version.toString().endsWith("SNAPSHOT")

class Deploy {
    fun run( { val x = ; }
    fun after() {}
}

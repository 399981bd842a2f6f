first() {
  echo "fine"
}

second() {
  echo "an open quote
}

third() {
  cat <<'END'
END
  echo "$1"
}

fourth() { echo ok; }

# Receipts as text.

. lib/price.sh

# A row: name, unit price, pieces.
row() {
    echo "$3 x $1: $(line_total "$2" "$3")"
}

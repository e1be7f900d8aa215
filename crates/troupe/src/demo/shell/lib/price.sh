# Prices, in cents.

BULK_FROM=10
BULK_PERCENT=10

# The price of some pieces of one article.
line_total() {
    total=$(($1 * $2))
    if [ "$2" -gt "$BULK_FROM" ]; then
        total=$((total - total * BULK_PERCENT / 100))
    fi
    echo "$total"
}

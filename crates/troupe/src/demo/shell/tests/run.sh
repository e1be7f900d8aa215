. lib/receipt.sh

failures=0

check() {
    if [ "$2" = "$3" ]; then
        echo "ok: $1"
    else
        echo "FAILED: $1: expected $2, got $3"
        failures=$((failures + 1))
    fi
}

check few_pieces_cost_their_price 2250 "$(line_total 250 9)"
check ten_pieces_are_bulk 2250 "$(line_total 250 10)"
check many_pieces_are_bulk 4500 "$(line_total 250 20)"
check a_row_ends_with_its_price "2 x tea: 500" "$(row tea 250 2)"

if [ "$failures" -gt 0 ]; then
    echo "$failures failed"
    exit 1
fi
echo "all passed"
